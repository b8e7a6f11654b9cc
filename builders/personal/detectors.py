"""Which detector finds which kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from builders.personal import accounts, address, birth, ip, mail, names, numbers, phone, plates, urls
from builders.personal.scan import Scan, Span
from builders.spec import PersonalKind

DETECTORS: Mapping[PersonalKind, Callable[[Scan], Iterator[Span]]] = {
    PersonalKind.URL: urls.find,
    PersonalKind.EMAIL: mail.find,
    PersonalKind.HANDLE: mail.find,
    PersonalKind.IP_ADDRESS: ip.find,
    PersonalKind.IBAN: accounts.find_iban,
    PersonalKind.PAYMENT_CARD: accounts.find_payment_card,
    PersonalKind.BANK_ACCOUNT: accounts.find_bank_account,
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
