"""Training a recommendation model."""
