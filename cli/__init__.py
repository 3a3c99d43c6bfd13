"""The `evenhand` command: offline over files, online over the API. No Django here."""
