-- Statements whose result columns are named as plain DuckDB names them. The arguments of ? and $n are 1, 2, …
SELECT tags[1:2], tags[1], name[1:3], attrs['city'], tags[-1] FROM customers
SELECT first_value(id IGNORE NULLS) OVER (ORDER BY id), row_number() OVER (), row_number() OVER (ORDER BY id), sum(id) OVER (PARTITION BY vip ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), lag(id) OVER (ORDER BY id), lag(id, 2, 0) OVER (ORDER BY id) FROM customers
SELECT [1,2,3], ARRAY[1,2], {'a': 1, 'b': name}, MAP {'a': 1}, struct_pack(a := id) FROM customers
SELECT ROW(1, 2) IS NULL, (1, 2) IS NULL FROM customers
SELECT substring(name from 1 for 2), substring(name, 1, 2), position('a' in name), trim(name), trim(both 'x' from name), trim(leading from name) FROM customers
SELECT struct_extract(attrs, 'city'), attrs.zip + 1, customers.attrs.zip + 1, attrs['zip'] FROM customers
SELECT 5 % 2, mod(5, 2), 7 // 2, divide(7, 2), "add"(1, 2) FROM customers LIMIT 1
SELECT ?, ? + 1, id + ?, name || ?::VARCHAR FROM customers
SELECT $1, $2::INT, repeat(name, $1::INT) FROM customers WHERE id > $2
SELECT count(*), sum(id), max(id) + 1 FROM customers WHERE id > 3
SELECT id, name, id * 2 FROM customers WHERE id = 3
SELECT id, id + 1, name FROM customers ORDER BY id LIMIT 3
SELECT lake.main.customers.id, lake.main.customers.id + 1 FROM lake.main.customers WHERE id < 5
SELECT vip, count(*) FROM customers GROUP BY vip
SELECT vip, count(*), sum(balance) FROM customers GROUP BY 1 ORDER BY 1
SELECT name, country IS NULL, upper(name) FROM customers LIMIT 5
SELECT DISTINCT country FROM customers
SELECT date(signup), date('2020-01-01'), DATE '2020-01-01', CAST(signup AS DATE), signup::date, signup::DATE + 1 FROM customers
SELECT name::VARCHAR(10), CAST(name AS CHAR(3)), TRY_CAST(name AS VARCHAR ( 7 )), name::text(4) || 'x' FROM customers
SELECT CAST(name || ' as ' AS VARCHAR(5)), CAST((SELECT CAST('x' AS VARCHAR(3))) AS VARCHAR(2)), [name::VARCHAR(3)], name::VARCHAR(3)[], name::"VARCHAR"(3) FROM customers WHERE false
SELECT id::DECIMAL, id::DECIMAL(18,3), id::DECIMAL(5), id::NUMERIC FROM customers
SELECT list_transform(tags, x -> upper(x)), list_transform(tags, lambda x: upper(x)), list_transform(tags, lambda x, i: x || i), list_transform(tags, (x, i) -> x || i) FROM customers
SELECT list_transform([[1,2],[3]], lambda x: list_transform(x, lambda y: y + 1)) FROM customers
SELECT list_transform([[1,2],[3]], lambda x: list_transform(x, y -> y + 1)), list_reduce([1,2], lambda "a(b", y: "a(b" + y) FROM customers
SELECT list_filter(tags, lambda x: x > repeat('a', 2)), current_user || 'x' FROM customers
SELECT (VALUES (1)), (VALUES ('a')) || 'x', 3 IN (VALUES (1), (2)), EXISTS (VALUES (1)) FROM customers
SELECT (SELECT count(*) FROM orders WHERE status = 'x' AND true) FROM customers
SELECT (SELECT max(id) FROM main.orders), (SELECT max(id) FROM lake.main.orders), (SELECT max(id) FROM orders), (SELECT max(orders.id) FROM orders JOIN items ON orders.id = items.order_id) FROM customers
SELECT (SELECT x.id FROM orders x USING SAMPLE 1 ROWS) IS NULL, (SELECT count(*) FROM orders TABLESAMPLE 10%) IS NULL FROM customers
SELECT (SELECT sum(x) OVER () FROM range(3) r(x) LIMIT 1), (SELECT x FROM unnest([1]) u(x)) FROM customers
SELECT (SELECT id FROM orders ORDER BY ALL LIMIT 1), (SELECT id FROM orders ORDER BY 1 DESC NULLS LAST LIMIT 1 OFFSET 2) FROM customers
SELECT (SELECT 1 UNION SELECT 1), (SELECT 1 UNION ALL SELECT 2 LIMIT 1), (SELECT 1 EXCEPT SELECT 2), (SELECT 1 UNION BY NAME SELECT 1) FROM customers
SELECT (SELECT id FROM orders WHERE id = 1 GROUP BY ALL HAVING count(*) > 0), (SELECT DISTINCT 1), (SELECT DISTINCT ON (id) id FROM orders LIMIT 1) FROM customers
SELECT (SELECT id FROM orders a LEFT JOIN orders b USING (id) LIMIT 1), (SELECT a.id FROM orders a ASOF JOIN orders b ON a.id >= b.id LIMIT 1), (SELECT id FROM orders a SEMI JOIN orders b USING (id) LIMIT 1) FROM customers
SELECT (SELECT TRUE), (SELECT 1e3), (SELECT count(*) FILTER (true)), (SELECT 1 WHERE true) FROM customers
SELECT sum(id) FILTER (vip), sum(id) FILTER (WHERE true) FROM customers
SELECT CASE WHEN true THEN 1 END, CASE vip WHEN true THEN 1 END, coalesce(true, false) FROM customers
SELECT interval '1' day + interval 2 day, interval (id + 1) hour, INTERVAL '3 hours' FROM customers
SELECT list_value(id, 1)[1], [id][1:1], list_slice(tags, 1, 2), array_extract(tags, 1), struct_pack(a := 1, b := name).a FROM customers
SELECT MAP([1],[2]), MAP {}, [] , {'a b': 1}, {'a': NULL} FROM customers
SELECT seen::TIMESTAMP(3), seen::TIMESTAMP(6), CAST('2020-01-01' AS TIMESTAMP_S), 1::UINT8, tiny::INT1, weight::REAL, weight::DOUBLE PRECISION, big::INT128, id::DEC(5,1), id::BIGINT::LOGICAL FROM events WHERE false
SELECT 'a'::VARCHAR COLLATE NOCASE, name COLLATE NOCASE || 'x', name COLLATE NOCASE = 'X' FROM customers
SELECT extract(epoch FROM seen), date_part(['year', 'month'], seen), extract('dow' FROM seen), date_part('timezone', seen) FROM events
SELECT a.id + b.id, a.id = b.id FROM customers a, customers b WHERE a.id = b.id
SELECT count(*) FILTER (WHERE a.vip), a.country FROM customers a GROUP BY a.country
SELECT id % 2 = 0 AND vip OR NOT vip AND id > 2 FROM customers
SELECT 'it''s' || name, E'a\tb' || name, 'ü' || name, '' || name, 'a"b', $$dollar$$ FROM customers
SELECT "id" + 1, customers."name" || 'x', "customers"."id" * 2 FROM customers
SELECT true = vip, false OR vip, NOT true, true::INT, [true, false], {'a': true} FROM customers
SELECT regexp_matches(name, 'a'), name SIMILAR TO '.*1', regexp_extract(name, '(\d+)', 1), name LIKE '%1' OR name ILIKE 'C%' FROM customers
SELECT like_escape(name, 'a%', '!'), name NOT LIKE 'a' ESCAPE '!', name NOT ILIKE 'a' ESCAPE '!', name LIKE name FROM customers
SELECT unnest([1,2]) + 1, unnest(tags) || 'x' FROM customers
SELECT unnest(attrs, recursive := true) FROM customers
SELECT attrs.*, attrs.city FROM customers
SELECT * LIKE '%d' FROM customers
SELECT * SIMILAR TO 'i.*' FROM customers
SELECT COLUMNS('(i)(d)') AS '\2\1' FROM customers
SELECT COLUMNS(['id', 'name']) FROM customers
SELECT COLUMNS(* EXCLUDE (id, attrs, tags)) IS NULL FROM customers
SELECT list_transform(tags, lambda x: x || COLUMNS('name')) FROM customers
SELECT repeat(COLUMNS('name'), 3) FROM customers
SELECT repeat(COLUMNS('name'), 3) || 'x', lpad(COLUMNS('name'), id, 'x') FROM customers
SELECT COLUMNS('^id$')::VARCHAR(4), true AND COLUMNS('vip'), 1e3 * COLUMNS('^id$') FROM customers
SELECT date(COLUMNS('signup')) FROM customers
SELECT list_transform(COLUMNS('tags'), lambda x: x || 'x') FROM customers
SELECT current_user, COLUMNS('vip') = true FROM customers
SELECT (id + 1) AS "a", "a" + 1, (SELECT a + 1) FROM customers
SELECT CAST(id AS STRUCT(a INT)[]) FROM customers WHERE false
SELECT quantile_cont(id, 0.5 ORDER BY id DESC), percentile_disc(0.5) WITHIN GROUP (ORDER BY id DESC) FROM customers
SELECT mode() WITHIN GROUP (ORDER BY id) FROM customers
SELECT id, sum(id) OVER (PARTITION BY vip) AS x, x + 1 FROM customers QUALIFY row_number() OVER (ORDER BY id) < 3
SELECT sum(id) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING), sum(id) OVER (ORDER BY id ROWS BETWEEN 1+1 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW), sum(id) OVER (ORDER BY signup RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW) FROM customers
SELECT lead(id, 1, true::INT) OVER (ORDER BY id), count(DISTINCT id) OVER (), nth_value(name, 2) OVER (ORDER BY id), cume_dist() OVER (ORDER BY id), rank(ORDER BY id) OVER () FROM customers
SELECT grouping(vip) FROM customers GROUP BY ROLLUP(vip)
SELECT id FROM customers ORDER BY name COLLATE NOCASE
PIVOT (SELECT status, amount FROM orders) ON status IN ('paid', 'open') USING sum(amount) AS s, max(amount)
FROM (PIVOT orders ON status IN ('paid') USING sum(amount + 1) GROUP BY customer_id)
UNPIVOT (SELECT id, name, country FROM customers) ON name, country
UNPIVOT (SELECT id, name, country FROM customers) ON COLUMNS(* EXCLUDE id) INTO NAME n VALUE v
SELECT * FROM (SELECT id, id + 1, id + 1 FROM customers)
SELECT a.*, b.* FROM (SELECT id, 1 + 1 FROM customers) a, (SELECT 1 + 1) b
SELECT * FROM (SELECT repeat('a', 2), true) x
SELECT x."repeat('a', 2)" FROM (SELECT repeat('a', 2)) x
SELECT id FROM (SELECT id FROM customers UNION SELECT id FROM orders)
(SELECT id + 1 FROM customers) UNION (SELECT 2) ORDER BY 1
SELECT 1 + 1 UNION BY NAME SELECT 1 AS x
SELECT 'a' AS x UNION ALL BY NAME SELECT 1 + 1
WITH a AS (SELECT date(signup), list_transform(tags, lambda x: x) FROM customers) SELECT * FROM a
DESCRIBE SELECT list_transform(tags, lambda x: x), date(signup), name::VARCHAR(3) FROM customers
SUMMARIZE SELECT date(signup), id FROM customers
SELECT CAST(id AS DECIMAL (9 , 2)), TRY_CAST(name || $$ as $$ AS VARCHAR(3)), id::DECIMAL::VARCHAR(3), CAST(CAST(id AS DECIMAL(7)) AS DECIMAL(9)) FROM customers
SELECT sum(id)::DECIMAL(38,2), sum(id::DECIMAL) / 2, id IN (1::DECIMAL) FROM customers GROUP BY id
SELECT  1.50, .5 FROM customers
SELECT - 1.5e0 FROM customers
SELECT 1e10 FROM customers
SELECT 123456789012345678901234567890 FROM customers
SELECT count(*), id+1, t.name FROM customers t GROUP BY ALL
SELECT id, id FROM customers
SELECT * FROM (SELECT id, id FROM customers)
SELECT attrs.city, customers.attrs.city, lake.main.customers.attrs.city || 'x', (attrs).city FROM customers
SELECT id::VARCHAR, CAST(id AS BIGINT), TRY_CAST(name AS INT), id::DOUBLE, name::DATE FROM customers WHERE false
SELECT DATE '2020-01-01', TIMESTAMP '2020-01-01 00:00:00', TIMESTAMPTZ '2020-01-01 00:00:00+00', INTERVAL '1 day', INTERVAL 3 DAY, INTERVAL (id) DAY FROM customers
SELECT list_transform(tags, lambda x: x || 'a'), [x || 'b' for x in tags], [x for x in tags if x > 'a'] FROM customers
SELECT list_filter(tags, x -> x > 'a') FROM customers
SELECT -id, +id, - 5, -5, ~id, NOT vip, id!, @id FROM customers LIMIT 1
SELECT id BETWEEN 1 AND 2, id NOT BETWEEN 1 AND 2, id IN (1,2), id NOT IN (1,2), id IS NULL, id IS NOT NULL, id ISNULL, id NOTNULL FROM customers
SELECT name LIKE 'a%', name NOT LIKE 'a%', name ILIKE 'a%', name NOT ILIKE 'x%', name LIKE 'a!%' ESCAPE '!', name SIMILAR TO 'a.*', name GLOB 'a*', name ~ 'a.*', name !~ 'a', name ~~ 'a', name !~~ 'a' FROM customers
SELECT id = 1, id <> 1, id != 1, id < 1, id >= 1, id IS DISTINCT FROM 1, id IS NOT DISTINCT FROM 1, id == 1, vip IS TRUE, vip IS NOT FALSE FROM customers
SELECT vip AND id > 1, vip OR id > 1 AND NOT vip, (vip OR id > 1) AND vip FROM customers
SELECT CASE WHEN id = 1 THEN 'a' ELSE 'b' END, CASE id WHEN 1 THEN 'a' WHEN 2 THEN 'b' END, coalesce(name, 'x'), ifnull(name, 'x'), nullif(id, 3) FROM customers
SELECT count(DISTINCT name), count(*) FILTER (WHERE vip), sum(id), sum(DISTINCT id) FILTER (WHERE vip), string_agg(name, ','), string_agg(name, ',' ORDER BY id DESC), array_agg(id ORDER BY id) FROM customers
SELECT sum(id) OVER w, avg(id) OVER (w ROWS UNBOUNDED PRECEDING) FROM customers WINDOW w AS (PARTITION BY vip ORDER BY id)
SELECT (SELECT max(id) FROM orders), EXISTS (SELECT 1 FROM orders), id IN (SELECT customer_id FROM orders), id = ANY (SELECT customer_id FROM orders), id > ALL (SELECT customer_id FROM orders) FROM customers
SELECT id FROM customers UNION SELECT customer_id FROM orders
SELECT id + 1 FROM customers UNION ALL SELECT customer_id * 2 FROM orders
SELECT id, id FROM customers INTERSECT SELECT id, customer_id FROM orders
SELECT c.*, o.* FROM customers c JOIN orders o ON c.id = o.customer_id
SELECT * FROM customers c JOIN orders o ON c.id = o.customer_id
SELECT ID, Name, UPPER(NAME), Count(*) FROM customers GROUP BY ALL
SELECT sum(amount * (1 - 0.05)), sum(amount) / 7.0, 100.00 * sum(case when status like 'PROMO%' then amount * (1 - 1.5) else 0 end) / sum(amount) FROM orders
