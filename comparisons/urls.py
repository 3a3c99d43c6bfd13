"""Page addresses."""

from django.urls import path

from comparisons.views import groups, paired, setups, templates

app_name = "comparisons"
urlpatterns = [
    path("", paired.choose, name="list"),
    path("paired", paired.paired, name="paired"),
    path("case", paired.case, name="case"),
    path("export", paired.export, name="export"),
    path("groups/", groups.group_list, name="groups"),
    path("groups/new", setups.new_group, name="new_group"),
    path("groups/setups/<uuid:setup>/start", setups.start, name="start_setup"),
    path("groups/setups/<uuid:setup>/drop", setups.drop_setup, name="drop_setup"),
    path("groups/setups/<uuid:setup>/<slug:step>", setups.setup, name="setup"),
    path("groups/<uuid:group>/again", setups.again, name="again"),
    path("groups/<uuid:group>/", groups.group, name="group"),
    path("groups/<uuid:group>/state", groups.group_state, name="group_state"),
    path("groups/<uuid:group>/steer", groups.steer_group, name="steer_group"),
    path("templates/", templates.template_list, name="templates"),
    path("templates/<uuid:template>/", templates.template, name="template"),
    path("templates/<uuid:template>/rename", templates.rename_template, name="rename_template"),
    path("templates/<uuid:template>/archive", templates.archive_template, name="archive_template"),
    path("templates/<uuid:template>/restore", templates.restore_template, name="restore_template"),
    path("templates/<uuid:template>/use", setups.use_template, name="use_template"),
]
