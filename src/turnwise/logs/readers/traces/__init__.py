"""Traces of model calls: OpenTelemetry, Langfuse, LangSmith, Phoenix."""
