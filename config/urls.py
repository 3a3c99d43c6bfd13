"""The whole map on one screen: pages of a team, the API, the operators' site."""

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from config import second_factor, signing_in, single_sign_on, views
from teams.views import joining

team_pages: list[URLPattern | URLResolver] = [
    path("", views.team_home, name="team_home"),
    path("datasets/", include("datasets.urls")),
    path("agents/", include("agents.urls")),
    path("graders/", include("grading.urls")),
    path("experiments/", include("runs.urls")),
    path("imports/", include("intake.urls")),
    path("comparisons/", include("comparisons.urls")),
    path("team/webhooks/", include("webhooks.urls")),
    path("team/", include("teams.urls")),
]

api: list[URLPattern | URLResolver] = [
    path("", include("teams.api_urls")),
    path("", include("datasets.api_urls")),
    path("", include("agents.api_urls")),
    path("", include("runs.api_urls")),
    path("", include("grading.api_urls")),
    path("", include("intake.api_urls")),
    path("", include("comparisons.api_urls")),
    path("", include("webhooks.api_urls")),
    path("schema", views.Schema.as_view(), name="schema"),
]

urlpatterns = [
    path("", views.home, name="home"),
    path("ping", views.ping, name="ping"),
    path("sign-in/", signing_in.SignIn.as_view(), name="login"),
    path("sign-in/code/", second_factor.code, name="second_factor_code"),
    path("sign-in/sso/", single_sign_on.start, name="single_sign_on"),
    path("sign-in/<slug:provider_id>/callback/", single_sign_on.callback, name="openid_connect_callback"),
    path("account/second-factor/", second_factor.account, name="second_factor"),
    path("sign-out/", signing_in.SignOut.as_view(), name="logout"),
    path("password/", signing_in.ForgottenPassword.as_view(), name="password_forgotten"),
    path("password/change/", signing_in.ChangePassword.as_view(), name="password_change"),
    path("password/<uidb64>/<token>/", signing_in.NewPassword.as_view(), name="password_new"),
    path("join/<str:secret>/", joining.join, name="join"),
    path("theme", views.theme, name="theme"),
    path("components/", views.gallery, name="gallery"),
    path("api-docs/", views.api_docs, name="api_docs"),
    path("t/<slug:team>/", include(team_pages)),
    path("api/v1/", include((api, "api"))),
    path("api/<path:rest>", views.no_such_endpoint),
    path("operators/", admin.site.urls),
]

handler400 = "config.errors.bad_request"
handler403 = "config.errors.permission_denied"
handler404 = "config.errors.not_found"
handler500 = "config.errors.server_error"
