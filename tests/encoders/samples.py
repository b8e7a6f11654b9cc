"""Short German texts, written for these tests."""

TITLES = [
    "Koch (m/w/d)",
    "Bäckerin in Vollzeit",
    "Softwareentwickler Java, Köln",
    "Straßenbahnfahrer",
    "Pflegefachkraft für die Nachtwache",
    "Größen- und Maßprüfung",
    "Leiter*in Einkauf & Logistik – 80 %",
    "Fahrer C/CE",
    "1. Geselle Dachdeckerei",
    "Café-Betreuung „Zur Linde“",
    "IT-Admin 2nd Level (Linux/Windows)",
    "Übersetzer日本語",
]
PROFILES = [
    f"{title}. Skills: Kunden beraten; Termine planen. Region: Bayern. KldB 2010: 4341{number % 4}."
    for number, title in enumerate(TITLES)
]
LONG = "Im Winter fährt die Straßenbahn seltener, weil die Weichen einfrieren. " * 60
