"""Kept results, templates, setups, groups and their arms."""

from comparisons.models.groups import Arm, Group
from comparisons.models.results import KeptResult
from comparisons.models.setups import Setup
from comparisons.models.templates import Template, TemplateBody, TemplateVersion

__all__ = ["Arm", "Group", "KeptResult", "Setup", "Template", "TemplateBody", "TemplateVersion"]
