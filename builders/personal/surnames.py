"""Surnames that are common in Germany, Austria and Switzerland, written down as facts.

They are evidence where a cue alone is weak ("Kontakt Müller"). The list was put together for this project
from general knowledge, immigrant families included; no published list was copied.
"""

SURNAMES = frozenset(
    """
    Abel Acar Ackermann Adam Ahrens Albers Albert Albrecht Altmann Anders Arndt Arnold Arslan Aslan Auer
    Aydın Bach Bachmann Bader Baier Bauer Baum Baumann Baumgartner Baumgärtner Baur Bayer Beck Becker
    Beckmann Beer Behrendt Behrens Bender Benz Berg Berger Bergmann Bernhardt Berndt Betz Beyer Binder
    Bischoff Blank Blum Bock Bode Bohn Böhm Böhme Born Böttcher Brand Brandl Brandt Bräuer Braun Breuer
    Brinkmann Brückner Brunner Buchholz Buck Budde Burger Burkhardt Busch Büttner Carstens Çelik Christ
    Christensen Christiansen Claus Conrad Cordes Dahmen Demir Diehl Dietrich Dietz Döring Dörr Dreher
    Drescher Ebert Eberhardt Eckert Eder Egger Ehlers Eichhorn Engel Engelhardt Erdmann Ernst Esser Fath
    Feldmann Fiedler Fink Fischer Fleischer Förster Forster Franke Franz Freitag Frey Fricke Friedrich
    Fritsch Fritz Fröhlich Fuchs Fuhrmann Funk Gabriel Gebhardt Geiger Geißler Gerber Gerlach Giese
    Glaser Göbel Götz Graf Greiner Grimm Groß Gruber Günther Haas Haase Hagemann Hahn Hamann Hanke
    Hansen Harms Hartmann Hartung Hauser Heck Heil Hein Heinemann Heinrich Heinz Heinze Heller Hempel
    Henke Hennig Henning Hentschel Herbst Hermann Herold Herrmann Herzog Hess Heß Hesse Heuer
    Hildebrandt Hinz Hirsch Hofer Hoffmann Hofmann Hofstätter Hohmann Holz Holzer Hoppe Horn Huber
    Hübner Hummel Jäger Jahn Jakob Janßen Jansen Janssen Janzen Jensen Jordan Jung Junker Jost Kaiser
    Kaminski Karl Kaufmann Kaya Keil Keller Kern Kessler Keßler Kiefer Kirchner Kirsch Klaus Klein Klemm
    Klose Kluge Knoll Koch Köhler Kohl König Kolb Konrad Kopp Köster Kowalczyk Kowalski Kraft Krämer
    Kramer Kraus Krause Krauß Krebs Kremer Kretschmer Krieger Krüger Kruse Kugler Kuhlmann Kuhn Kühn
    Kunz Kunze Kurz Lang Lange Langer Lehmann Leitner Lemke Lenz Lindemann Lindner Linke Lohmann
    Lorenz Löffler Ludwig Lutz Maier Mair Marquardt Martens Marx Maurer May Mayer Mayr Meier Meißner
    Menzel Merkel Mertens Metz Metzger Meyer Michel Michels Miller Mohr Möller Moser Müller Münch Nagel
    Naumann Neubauer Neuhaus Neumann Nguyen Nickel Niemann Noack Nolte Nowak Oswald Opitz Ott Otto
    Özdemir Öztürk Pape Paul Paulsen Peters Petersen Petrović Pfeffer Pfeifer Pfeiffer Pichler Pietsch
    Pohl Popp Probst Raab Rau Rausch Reich Reichert Reimann Reimer Reinhardt Reinhold Reiter Renner
    Reuter Richter Riedel Rieger Ritter Rohde Römer Rose Roth Rothe Rudolph Runge Rupp Sander Sauer
    Sauter Schade Schäfer Schaller Schenk Scherer Schiller Schilling Schindler Schlegel Schlüter Schmid
    Schmidt Schmitt Schmitz Schneider Scholz Schön Schönfeld Schramm Schreiber Schreiner Schröder
    Schröter Schubert Schulte Schultz Schulz Schulze Schumacher Schumann Schuster Schütte Schütz
    Schwab Schwarz Schweizer Seidel Seifert Seiler Siebert Simon Singer Şahin Sommer Sonntag Stadler
    Stahl Stark Steffen Stein Steinbach Steiner Stephan Stern Stock Stoll Straub Strauß Strobel Süß
    Thiel Thiele Thomas Thoma Tran Trautmann Ulbrich Ullrich Ulrich Unger Urban Vetter Vogel Vogelsang
    Vogl Vogt Voigt Völker Voß Wagner Wahl Walter Walther Weber Wegener Wegner Weigel Weiß Weis Wendt
    Wenzel Werner Westphal Wiedemann Wieland Wiese Wilhelm Wilke Wimmer Winkler Winter Wirth Witt
    Witte Wolf Wolff Wolter Wulf Wulff Yılmaz Yıldız Yildirim Yıldırım Zander Zeller Ziegler Zimmer
    Zimmermann
    """.split()
)
