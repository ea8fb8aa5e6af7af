-- +goose Up
/* Orders get a currency; the note moves. */
ALTER TABLE public.orders
  DROP COLUMN "note",
  ADD COLUMN currency char(3) NOT NULL,
  ADD COLUMN memo text DEFAULT 'a;b' NOT NULL;
ALTER TABLE orders ALTER COLUMN qty TYPE bigint USING qty::bigint, ALTER state SET NOT NULL;
CREATE UNIQUE INDEX one_per_user ON orders (user_id, placed_at);
CREATE INDEX CONCURRENTLY by_state ON orders USING btree (state);
DROP INDEX by_note ON orders;
ALTER TABLE orders RENAME COLUMN total TO amount;
ALTER TABLE orders ADD CONSTRAINT of_user FOREIGN KEY (user_id) REFERENCES users (id) NOT VALID;
CREATE FUNCTION touch() RETURNS trigger AS $$ BEGIN DROP TABLE orders; END $$ LANGUAGE plpgsql;
CREATE TABLE parcels (id bigserial PRIMARY KEY, weight numeric(10, 2) NOT NULL, UNIQUE (weight));
INSERT INTO parcels VALUES (1, 'DROP TABLE orders');
-- +goose Down
DROP TABLE parcels;
