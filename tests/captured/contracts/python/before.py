"""Nothing yet."""
from alembic import op
