"""Which detector finds which kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from builders.personal import address, birth, mail, names, numbers, phone, plates, urls
from builders.personal.kinds import PersonalKind
from builders.personal.scan import Scan, Span

DETECTORS: Mapping[PersonalKind, Callable[[Scan], Iterator[Span]]] = {
    PersonalKind.URL: urls.find,
    PersonalKind.EMAIL: mail.find,
    PersonalKind.HANDLE: mail.find,
    PersonalKind.IBAN: numbers.find_iban,
    PersonalKind.VAT_ID: numbers.find_vat_id,
    PersonalKind.SOCIAL_SECURITY: numbers.find_social_security,
    PersonalKind.HEALTH_INSURANCE: numbers.find_health_insurance,
    PersonalKind.TAX_ID: numbers.find_tax_id,
    PersonalKind.TAX_NUMBER: numbers.find_tax_number,
    PersonalKind.ID_CARD: numbers.find_id_card,
    PersonalKind.BIRTH_DATE: birth.find,
    PersonalKind.PHONE: phone.find,
    PersonalKind.ADDRESS: address.find,
    PersonalKind.PLATE: plates.find,
    PersonalKind.PERSON: names.find,
    PersonalKind.FULL_NAME: names.find_full,
}
