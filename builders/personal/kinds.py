"""The kinds of personal data that are found and replaced."""

from __future__ import annotations

from enum import StrEnum


class PersonalKind(StrEnum):
    """A kind of personal data, in the order in which overlapping findings are decided.

    A kind's placeholder in a text is its value in capitals, ``<EMAIL>``; both kinds of names share
    ``<PERSON>``.
    """

    URL = "url"
    EMAIL = "email"
    HANDLE = "handle"
    IP_ADDRESS = "ip_address"
    IBAN = "iban"
    PAYMENT_CARD = "payment_card"
    BANK_ACCOUNT = "bank_account"
    VAT_ID = "vat_id"
    SOCIAL_SECURITY = "social_security"
    HEALTH_INSURANCE = "health_insurance"
    TAX_ID = "tax_id"
    TAX_NUMBER = "tax_number"
    ID_CARD = "id_card"
    BIRTH_DATE = "birth_date"
    PHONE = "phone"
    ADDRESS = "address"
    PLATE = "plate"
    PERSON = "person"
    FULL_NAME = "full_name"

    @property
    def placeholder(self) -> str:
        """What replaces a span of this kind."""
        return "<PERSON>" if self is PersonalKind.FULL_NAME else f"<{self.value.upper()}>"


CONTACT: tuple[PersonalKind, ...] = (
    PersonalKind.URL,
    PersonalKind.EMAIL,
    PersonalKind.HANDLE,
    PersonalKind.IBAN,
    PersonalKind.PAYMENT_CARD,
    PersonalKind.BANK_ACCOUNT,
    PersonalKind.VAT_ID,
    PersonalKind.SOCIAL_SECURITY,
    PersonalKind.HEALTH_INSURANCE,
    PersonalKind.TAX_ID,
    PersonalKind.TAX_NUMBER,
    PersonalKind.ID_CARD,
    PersonalKind.PHONE,
)
"""Contact data and account numbers: for published news, blurbs and Wikipedia passages.

An IP address reaches nobody; in such texts it is a fact about a network.
"""

ALL_KINDS: tuple[PersonalKind, ...] = tuple(PersonalKind)
"""Every kind, names included: for job titles and posts of private people."""
