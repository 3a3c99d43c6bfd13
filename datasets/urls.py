"""Page addresses of datasets."""

from django.urls import path

from datasets.views import bringing, browsing, editing, managing, slices

app_name = "datasets"
urlpatterns = [
    path("", browsing.dataset_list, name="list"),
    path("new", managing.new, name="new"),
    path("<uuid:dataset>/", browsing.detail, name="detail"),
    path("<uuid:dataset>/name", managing.rename, name="rename"),
    path("<uuid:dataset>/archive", managing.archive, name="archive"),
    path("<uuid:dataset>/restore", managing.restore, name="restore"),
    path("<uuid:dataset>/compare", browsing.compare, name="compare"),
    path("<uuid:dataset>/versions/<int:number>/", browsing.version, name="version"),
    path("<uuid:dataset>/revisions/<uuid:revision>/", browsing.revision, name="revision"),
    path("<uuid:dataset>/cases/new", editing.add, name="add_case"),
    path("<uuid:dataset>/cases/bring", bringing.bring, name="bring"),
    path("<uuid:dataset>/cases/<uuid:item>/", editing.edit, name="edit_case"),
    path("<uuid:dataset>/cases/<uuid:item>/remove", editing.remove, name="remove_case"),
    path("<uuid:dataset>/cases/<uuid:item>/undo", editing.undo, name="undo_change"),
    path("<uuid:dataset>/draft/", editing.draft, name="draft"),
    path("<uuid:dataset>/draft/version", editing.make_version, name="make_version"),
    path("<uuid:dataset>/draft/discard", editing.discard, name="discard_draft"),
    path("<uuid:dataset>/slices/", slices.slices, name="slices"),
    path("<uuid:dataset>/slices/new", slices.new, name="new_slice"),
    path("<uuid:dataset>/slices/<uuid:slice>/", slices.slice_page, name="slice"),
    path("<uuid:dataset>/slices/<uuid:slice>/filter", slices.edit, name="edit_slice"),
    path("<uuid:dataset>/slices/<uuid:slice>/archive", slices.archive, name="archive_slice"),
    path("<uuid:dataset>/slices/<uuid:slice>/restore", slices.restore, name="restore_slice"),
]
