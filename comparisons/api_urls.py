"""API addresses."""

from django.urls import path

from comparisons.api_views import groups, paired, templates

urlpatterns = [
    path("groups", groups.Groups.as_view(), name="groups"),
    path("groups/readiness", groups.GroupReadiness.as_view(), name="group_readiness"),
    path("groups/<uuid:group>", groups.GroupView.as_view(), name="group"),
    path("groups/<uuid:group>/steps", groups.GroupSteps.as_view(), name="group_steps"),
    path("templates", templates.Templates.as_view(), name="templates"),
    path("templates/<uuid:template>", templates.TemplateDetail.as_view(), name="template"),
    path("templates/<uuid:template>/versions", templates.TemplateVersions.as_view(), name="template_versions"),
    path(
        "templates/<uuid:template>/versions/<int:number>",
        templates.TemplateVersionView.as_view(),
        name="template_version",
    ),
    path("paired-comparison", paired.PairedComparisonView.as_view(), name="paired_comparison"),
    path("paired-comparison/cases", paired.PairedCasesView.as_view(), name="paired_comparison_cases"),
    path("paired-comparison/plan", paired.PairedPlanView.as_view(), name="paired_comparison_plan"),
]
