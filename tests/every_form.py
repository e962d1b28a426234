"""Every form of every format that `convert` reads."""

from tests.log_sources import SOURCES, Source
from tests.table_sources import TABLES

FORMS: dict[str, Source] = {**SOURCES, **TABLES}
TEXTS = [name for name, source in FORMS.items() if source.store.__name__ == "as_text"]
PACKED = [name for name, source in FORMS.items() if source.store.__name__ == "as_zip"]
BINARY = [name for name, source in FORMS.items() if source.store.__name__ in ("as_parquet", "as_dataset")]
