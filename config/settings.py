"""Settings, read from the environment; what is missing fails loudly.

Production sets SECRET_KEY, DATABASE_URL, CELERY_BROKER_URL, ALLOWED_HOSTS and PUBLIC_URL. Embedded
mode (EVENHAND_EMBEDDED=1) is what `make run` and `make test` use: real servers on this machine,
plain HTTP on the loopback address. DEBUG is off in every mode.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.utils.csp import CSP

BASE_DIR = Path(__file__).resolve().parent.parent


def required(name: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise ImproperlyConfigured(f"{name} is not set. `make run` and `make test` set it; production must.")
    return value


def database(url: str) -> dict[str, Any]:
    """postgresql://user:password@host:port/name?host=/socket/dir&sslmode=require -> Django's form."""
    parts = urlsplit(url)
    if parts.scheme not in ("postgresql", "postgres"):
        raise ImproperlyConfigured("DATABASE_URL must begin with postgresql://; Evenhand knows no other database.")
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    host = options.pop("host", "") or parts.hostname or ""
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(parts.port or options.pop("port", "") or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": options,
        "TEST": {"TEMPLATE": "template0"},
    }


def mailer(url: str) -> dict[str, Any]:
    """smtp://user:password@host:port?tls=1, or smtps:// -> Django's form. Without a server mail goes into the log."""
    if not url:
        return {"BACKEND": f"django.core.mail.backends.{'console' if EMBEDDED else 'dummy'}.EmailBackend"}
    parts = urlsplit(url)
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
        raise ImproperlyConfigured("MAIL_URL has the form smtp://user:password@host:587?tls=1 or smtps://host.")
    encrypted = parts.scheme == "smtps"
    return {
        "BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "OPTIONS": {
            "host": parts.hostname,
            "port": parts.port or (465 if encrypted else 587),
            "username": unquote(parts.username or ""),
            "password": unquote(parts.password or ""),
            "use_ssl": encrypted,
            "use_tls": not encrypted and dict(parse_qsl(parts.query)).get("tls", "1") == "1",
            "timeout": 10,
        },
    }


EMBEDDED = os.environ.get("EVENHAND_EMBEDDED") == "1"
VAR_DIR = Path(os.environ.get("EVENHAND_VAR", BASE_DIR / "var"))
SECRET_KEY = required("SECRET_KEY")
SECRET_KEY_FALLBACKS = os.environ.get("SECRET_KEY_FALLBACKS", "").split()
DEBUG = False
PUBLIC_URL = os.environ.get("PUBLIC_URL", "http://127.0.0.1:8000" if EMBEDDED else "")
if not PUBLIC_URL:
    raise ImproperlyConfigured("PUBLIC_URL is not set: the address people open, such as https://evenhand.example.org.")
LOOPBACK_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
ALLOWED_HOSTS = [host for host in os.environ.get("ALLOWED_HOSTS", "").split(",") if host]
if EMBEDDED:
    ALLOWED_HOSTS += LOOPBACK_HOSTS
ALLOWED_HOSTS.append(urlsplit(PUBLIC_URL).hostname or "")
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]

INSTALLED_APPS = [
    "config.apps.Wiring",
    "config.apps.OperatorAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django_htmx",
    "guardian",
    "pgtrigger",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "teams",
    "datasets",
    "agents",
    "runs",
    "grading",
    "comparisons",
    "intake",
    "webhooks",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.middleware.RequestIdMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "config.middleware.SessionAgeMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.middleware.RefusalMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.csp",
                "config.context.console",
            ]
        },
    }
]

DATABASES = {"default": database(required("DATABASE_URL"))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "teams.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "guardian.backends.ObjectPermissionBackend",
]
ANONYMOUS_USER_NAME = None
GUARDIAN_RENDER_403 = False
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

OIDC_SERVER_URL = os.environ.get("OIDC_SERVER_URL", "")  # unset: nobody signs in through another server
OIDC_NAME = os.environ.get("OIDC_NAME", "your organisation")
SOCIALACCOUNT_ADAPTER = "config.single_sign_on.Adapter"
SOCIALACCOUNT_STORE_TOKENS = False
SOCIALACCOUNT_REQUESTS_TIMEOUT = 10
SOCIALACCOUNT_PROVIDERS: dict[str, Any] = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                "provider_id": "sso",
                "name": OIDC_NAME,
                "client_id": os.environ.get("OIDC_CLIENT_ID", ""),
                "secret": os.environ.get("OIDC_CLIENT_SECRET", ""),
                "settings": {"server_url": OIDC_SERVER_URL},
            }
        ],
    }
}
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"

PASSWORD_RESET_TIMEOUT = 60 * 60
PROXIES = int(os.environ.get("PROXIES", "0" if EMBEDDED else "1"))  # in front of us, each adding to X-Forwarded-For

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English")]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = VAR_DIR / "static"
UPLOAD_DIR = VAR_DIR / "uploads"
UPLOAD_RETENTION_DAYS = int(os.environ.get("UPLOAD_RETENTION_DAYS", "30"))
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage", "OPTIONS": {"location": UPLOAD_DIR}},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
MAX_UPLOAD_BYTES = int(os.environ.get("MAX_UPLOAD_BYTES", str(64 * 1024 * 1024)))
MAX_UPLOAD_FILES = 50
MAX_REQUEST_BYTES = int(os.environ.get("MAX_REQUEST_BYTES", str(512 * 1024 * 1024)))  # all files of one upload
FILE_UPLOAD_HANDLERS = ["intake.uploading.BoundedUploadHandler"]
DATA_UPLOAD_MAX_MEMORY_SIZE = 2_621_440
FILE_UPLOAD_MAX_MEMORY_SIZE = 1_048_576

CACHE_URL = os.environ.get("CACHE_URL", "")
CACHES: dict[str, dict[str, Any]] = {
    "default": (
        {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": CACHE_URL}
        if CACHE_URL
        else {"BACKEND": "django.core.cache.backends.db.DatabaseCache", "LOCATION": "cache_entries"}
    )
}

CELERY_BROKER_URL = os.environ.get("CELERY_BROKER_URL", "")

LEASE_SECONDS = float(os.environ.get("LEASE_SECONDS", "30"))  # how long a worker's claim holds without being renewed
TICK_SECONDS = float(os.environ.get("TICK_SECONDS", "2"))  # how often it is looked for what no message woke anybody for
FIXTURE_ANSWERS = BASE_DIR / "config" / "demo_data" / "cases.json"
FIXTURE_PACE = float(os.environ.get("FIXTURE_PACE", "1"))  # multiplies the fixture's latencies

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 60 * 60 * 12  # absolute
SESSION_IDLE_SECONDS = 60 * 60
SESSION_ENGINE = "django.contrib.sessions.backends.db"
CSRF_COOKIE_HTTPONLY = True
CSRF_FAILURE_VIEW = "config.errors.csrf_failure"
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
if not EMBEDDED:  # plain HTTP exists on the loopback address alone
    SECURE_SSL_REDIRECT = True
    SECURE_HSTS_SECONDS = 60 * 60 * 24 * 365
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    SESSION_COOKIE_NAME = "__Host-session"
    CSRF_COOKIE_NAME = "__Host-csrf"

SECURE_CSP = {
    "default-src": [CSP.SELF],
    "script-src": [CSP.SELF, CSP.NONCE],
    "style-src": [CSP.SELF],
    "img-src": [CSP.SELF],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
}

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["teams.tokens.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["teams.gates.TokenRights"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["teams.api.StrictJSONParser", "rest_framework.parsers.MultiPartParser"],
    "DEFAULT_PAGINATION_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_THROTTLE_CLASSES": ["teams.api.TokenThrottle"],
    "DEFAULT_THROTTLE_RATES": {"token": "1200/min"},
    "EXCEPTION_HANDLER": "teams.api.refuse",
    "UNAUTHENTICATED_USER": None,
    "COERCE_DECIMAL_TO_STRING": False,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Evenhand API",
    "VERSION": "1",
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_NAME_OVERRIDES": {
        "InvitationState": "teams.serializers.INVITATION_STATES",
        "TokenState": "teams.serializers.TOKEN_STATES",
        "RunStep": "runs.serializers.RUN_STEPS",
        "WebhookState": "webhooks.serializers.STATES",
        "WebhookStep": "webhooks.serializers.STEPS",
        "DeliveryState": "webhooks.serializers.DELIVERY_STATES",
    },
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": os.environ.get("LOG_LEVEL", "WARNING")},
    # they write whole addresses down, and the path of one may be a receiver's secret
    "loggers": {name: {"level": "WARNING"} for name in ("httpx", "httpx2", "httpcore", "httpcore2")},
}
MAIL_URL = os.environ.get("MAIL_URL", "")  # smtp://user:password@host:587?tls=1; unset: links are shown, not sent
MAIL_SENDS = bool(MAIL_URL)
DEFAULT_FROM_EMAIL = os.environ.get("MAIL_FROM", f"evenhand@{urlsplit(PUBLIC_URL).hostname}")
MAILERS = {"default": mailer(MAIL_URL)}
# Django takes a mailer that sends nothing for an oversight; without a server links are shown on purpose.
SILENCED_SYSTEM_CHECKS: list[str] = [] if MAIL_SENDS else ["mail.E001"]
