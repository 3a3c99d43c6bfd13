"""What a library registers by itself and operators do not need: identities are bound by signing in alone."""

import allauth.account.admin
import allauth.socialaccount.admin  # noqa: F401 - registers; it would do so later, after this file was read
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin

from teams.admin import ReadOnly

for model in (EmailAddress, SocialAccount, SocialApp, SocialToken):
    if admin.site.is_registered(model):
        admin.site.unregister(model)


@admin.register(SocialAccount)
class Identities(ReadOnly):
    """Which identity of the organisation's server opens which account."""

    list_display = ("user", "provider", "uid", "date_joined")
    list_select_related = ("user",)
    exclude = ("extra_data",)
