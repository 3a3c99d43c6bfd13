"""The real map and two endpoints that exist in tests alone: one takes a body, one is faulty."""

from __future__ import annotations

from django.urls import path
from rest_framework.response import Response

from config.urls import handler400, handler403, handler404, handler500
from config.urls import urlpatterns as real
from teams.api import StrictSerializer
from teams.endpoints import TeamView
from teams.permissions import Right


class Body(StrictSerializer):
    pass


class Echo(TeamView):
    needed = {"POST": (Right.EVALUATION_READ,)}

    def post(self, request):
        Body(data=request.data).is_valid(raise_exception=True)
        return Response({})


class Faulty(TeamView):
    needed = {"GET": (Right.EVALUATION_READ,)}

    def get(self, request):
        raise RuntimeError("zq-canary-secret")


urlpatterns = [path("api/v1/echo", Echo.as_view()), path("api/v1/faulty", Faulty.as_view()), *real]
__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]
