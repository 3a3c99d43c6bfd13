"""What may be said: selections, the evidence loader, lenses, exports."""
