"""API addresses of datasets."""

from django.urls import path

from datasets.api_views import browsing, drafts, errata, slices

urlpatterns = [
    path("datasets", browsing.Datasets.as_view(), name="datasets"),
    path("datasets/<uuid:dataset>", browsing.DatasetDetail.as_view(), name="dataset"),
    path("datasets/<uuid:dataset>/versions", browsing.Versions.as_view(), name="dataset_versions"),
    path("datasets/<uuid:dataset>/versions/<int:number>/items", browsing.Items.as_view(), name="version_items"),
    path("datasets/<uuid:dataset>/differences", browsing.Differences.as_view(), name="version_differences"),
    path("datasets/<uuid:dataset>/revisions/<uuid:revision>", browsing.Revision.as_view(), name="item_revision"),
    path("datasets/<uuid:dataset>/revisions/<uuid:revision>/errata", errata.Errata.as_view(), name="errata"),
    path("datasets/<uuid:dataset>/draft", drafts.DraftDetail.as_view(), name="draft"),
    path("datasets/<uuid:dataset>/draft/changes", drafts.DraftChanges.as_view(), name="draft_changes"),
    path("datasets/<uuid:dataset>/draft/changes/<uuid:item>", drafts.DraftChange.as_view(), name="draft_change"),
    path("datasets/<uuid:dataset>/draft/cases", drafts.DraftCases.as_view(), name="draft_cases"),
    path("datasets/<uuid:dataset>/draft/table", drafts.DraftTable.as_view(), name="draft_table"),
    path("datasets/<uuid:dataset>/draft/cases/<uuid:item>", drafts.DraftCase.as_view(), name="draft_case"),
    path("datasets/<uuid:dataset>/slices", slices.Slices.as_view(), name="slices"),
    path("datasets/<uuid:dataset>/slices/<uuid:slice>", slices.SliceDetail.as_view(), name="slice"),
    path("datasets/<uuid:dataset>/slices/<uuid:slice>/versions", slices.SliceVersions.as_view(), name="slice_versions"),
    path("datasets/<uuid:dataset>/slices/<uuid:slice>/items", slices.SliceItems.as_view(), name="slice_items"),
]
