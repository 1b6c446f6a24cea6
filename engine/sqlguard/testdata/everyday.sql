-- Statements an analyst writes on an ordinary day, one a line.
SELECT * FROM customers
SELECT * FROM lake.main.customers
SELECT * FROM main.customers
SELECT count(*) FROM orders
SELECT count(*) AS n, count(note) AS notes, count(DISTINCT customer_id) FROM orders
SELECT id, name, country FROM customers WHERE country = 'FR' ORDER BY name LIMIT 10
SELECT name FROM customers WHERE name LIKE 'cust_1%'
SELECT name FROM customers WHERE name ILIKE 'CUST_2%' OR name NOT LIKE '%9%'
SELECT name FROM customers WHERE name ILIKE '%10\%' ESCAPE '\' OR name LIKE 'c!_%' ESCAPE '!'
SELECT country, count(*) AS n FROM customers GROUP BY country HAVING count(*) > 3 ORDER BY n DESC, country
SELECT country, count(*) FROM customers GROUP BY ALL ORDER BY ALL
SELECT 1, 2 AS two, 'three', 4.5, 1e3, 2.5e-3, TRUE, NULL
SELECT 1 + 2 * 3 - 4 / 5, 7 % 3, 7 // 2, 2 ** 3, -id FROM customers
SELECT upper(name), lower(name) || '!', length(name), substr(name, 2, 3), left(name, 2) FROM customers
SELECT trim('  x '), replace(name, 'cust', 'client'), split_part(name, '_', 2), reverse(name) FROM customers
SELECT regexp_matches(name, '\d+'), regexp_replace(name, '[0-9]+', '#'), regexp_extract(name, '(\d+)', 1) FROM customers
SELECT concat(name, ' - ', country), concat_ws('/', country, name), name || ' ' || country FROM customers
SELECT coalesce(note, 'none'), nullif(status, 'open'), ifnull(note, '') FROM orders
SELECT CASE WHEN amount > 100 THEN 'big' WHEN amount > 10 THEN 'mid' ELSE 'small' END AS size, count(*) FROM orders GROUP BY 1
SELECT CASE status WHEN 'open' THEN 1 ELSE 0 END FROM orders
SELECT CAST(amount AS INTEGER), amount::VARCHAR, TRY_CAST(note AS INTEGER), id::DOUBLE FROM orders
SELECT date_trunc('month', placed) AS m, sum(amount) FROM orders GROUP BY m ORDER BY m
SELECT year(placed), month(placed), count(*) FROM orders GROUP BY 1, 2 ORDER BY 1, 2
SELECT extract(dow FROM placed), extract('hour' FROM placed), date_part('week', placed) FROM orders
SELECT placed::DATE, dayname(placed), strftime(placed, '%Y-%m-%d %H:%M'), last_day(placed) FROM orders
SELECT * FROM orders WHERE placed >= DATE '2024-02-01' AND placed < DATE '2024-03-01'
SELECT * FROM orders WHERE placed BETWEEN TIMESTAMP '2024-01-05 00:00:00' AND '2024-01-20'
SELECT * FROM orders WHERE placed >= '2024-02-01 12:30:00' AND status IN ('open', 'paid')
SELECT * FROM customers WHERE signup > '2020-06-01' AND signup <= DATE '2021-06-01'
SELECT * FROM customers WHERE signup = '2020-01-05'
SELECT * FROM orders WHERE placed > TIMESTAMP '2024-01-01' + INTERVAL 10 DAY
SELECT placed + INTERVAL '1' DAY, placed - INTERVAL 3 MONTH, signup + 5 FROM orders JOIN customers ON customers.id = customer_id
SELECT date_diff('day', signup, DATE '2024-01-01') AS days, age(TIMESTAMP '2024-01-01', signup) FROM customers
SELECT o.id, c.name, o.amount FROM orders o JOIN customers c ON o.customer_id = c.id WHERE c.country = 'DE' AND o.amount > 50
SELECT c.name, sum(o.amount) FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.name
SELECT c.name, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id AND o.status = 'open' AND o.amount > 20
SELECT c.name, o.id FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL
SELECT c.name, o.note FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.note IS NULL AND c.vip
SELECT c.name, o.id FROM orders o RIGHT JOIN customers c ON o.customer_id = c.id WHERE o.status = 'open'
SELECT c.id, o.id FROM customers c FULL OUTER JOIN orders o ON o.customer_id = c.id WHERE o.amount > 10 OR c.id IS NULL
SELECT c.id, o.id FROM customers c FULL JOIN orders o ON o.customer_id = c.id WHERE o.amount > 10 AND c.country = 'FR'
SELECT * FROM orders JOIN items ON orders.id = items.order_id AND items.qty = 3
SELECT id, sku FROM orders JOIN items ON id = order_id WHERE qty >= 2 AND price < 20
SELECT * FROM items JOIN (SELECT id AS order_id, status FROM orders) s USING (order_id) WHERE status = 'open'
SELECT o.id, c.id FROM orders o, customers c WHERE o.customer_id = c.id AND c.id = 5
SELECT count(*) FROM orders CROSS JOIN customers
SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE amount > 150)
SELECT name FROM customers c WHERE EXISTS (SELECT * FROM orders o WHERE o.customer_id = c.id AND o.status = 'paid')
SELECT name FROM customers c WHERE NOT EXISTS (SELECT 1 FROM orders WHERE customer_id = c.id)
SELECT name FROM customers WHERE id NOT IN (SELECT customer_id FROM orders WHERE customer_id IS NOT NULL)
SELECT name, (SELECT max(amount) FROM orders WHERE customer_id = customers.id) AS best FROM customers
SELECT * FROM orders WHERE amount > (SELECT avg(amount) FROM orders)
SELECT * FROM orders WHERE amount >= ALL (SELECT amount FROM orders)
SELECT * FROM customers SEMI JOIN orders ON customers.id = orders.customer_id
SELECT * FROM customers ANTI JOIN orders ON customers.id = orders.customer_id
WITH big AS (SELECT * FROM orders WHERE amount > 100) SELECT count(*), min(amount) FROM big
WITH a AS (SELECT customer_id, sum(amount) AS s FROM orders GROUP BY 1), b AS (SELECT * FROM a WHERE s > 100) SELECT name, s FROM b JOIN customers ON id = customer_id
WITH customers AS (SELECT * FROM customers WHERE vip) SELECT count(*) FROM customers
WITH x(a, b) AS (SELECT id, name FROM customers) SELECT a, b FROM x WHERE a < 5
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT sum(i) FROM n
WITH RECURSIVE chain AS (SELECT id, name, 1 AS depth FROM customers WHERE id = 1 UNION ALL SELECT c.id, c.name, depth + 1 FROM customers c JOIN chain ON c.id = chain.id * 2) SELECT * FROM chain
WITH outer_one AS (WITH inner_one AS (SELECT 1 AS x) SELECT x FROM inner_one) SELECT o.x, c.id FROM outer_one o JOIN customers c ON c.id = o.x
SELECT country FROM customers UNION SELECT status FROM orders
SELECT id FROM customers UNION ALL SELECT customer_id FROM orders ORDER BY 1 LIMIT 5
SELECT id FROM customers EXCEPT SELECT customer_id FROM orders
SELECT id FROM customers INTERSECT SELECT customer_id FROM orders
SELECT id, name FROM customers UNION BY NAME SELECT id, status FROM orders
(SELECT id FROM customers ORDER BY id LIMIT 2) UNION ALL (SELECT id FROM orders ORDER BY id LIMIT 2)
SELECT id, amount, row_number() OVER (PARTITION BY customer_id ORDER BY amount DESC, id) AS rn FROM orders
SELECT id, rank() OVER (ORDER BY status), dense_rank() OVER (ORDER BY status), ntile(4) OVER (ORDER BY id), percent_rank() OVER (ORDER BY status) FROM orders
SELECT id, lag(amount) OVER w, lead(amount, 2, 0) OVER w, first_value(id) OVER w, last_value(id) OVER w FROM orders WINDOW w AS (PARTITION BY customer_id ORDER BY id)
SELECT id, sum(amount) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), avg(amount) OVER () FROM orders
SELECT id, sum(amount) OVER (ORDER BY placed RANGE BETWEEN INTERVAL 7 DAY PRECEDING AND CURRENT ROW) FROM orders
SELECT id, count(*) FILTER (WHERE status = 'open') OVER (PARTITION BY customer_id) FROM orders
SELECT * FROM orders QUALIFY row_number() OVER (PARTITION BY customer_id ORDER BY id) = 1
SELECT DISTINCT country FROM customers
SELECT DISTINCT ON (customer_id) customer_id, id FROM orders ORDER BY customer_id, id
SELECT country, vip, count(*) FROM customers GROUP BY GROUPING SETS ((country), (vip), ())
SELECT country, vip, count(*), grouping(country) FROM customers GROUP BY ROLLUP (country, vip)
SELECT country, vip, count(*) FROM customers GROUP BY CUBE (country, vip)
SELECT status, country, vip, count(*) FROM orders JOIN customers ON customers.id = customer_id GROUP BY status, ROLLUP (country, vip)
SELECT sum(amount), avg(amount), min(amount), max(amount), stddev(amount), median(amount), quantile_cont(amount, 0.9) FROM orders
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM orders
SELECT mode(status), approx_count_distinct(customer_id), arg_max(id, amount), any_value(status) IS NOT NULL FROM orders
SELECT sum(amount) FILTER (WHERE status = 'open') AS open_sum, count_if(amount > 50), bool_or(amount > 100) FROM orders
SELECT customer_id, string_agg(status, ',' ORDER BY id), list(id ORDER BY id), array_agg(DISTINCT status ORDER BY status) FROM orders GROUP BY customer_id
SELECT corr(amount, id), regr_slope(amount, id), covar_pop(amount, id), skewness(amount), entropy(status) FROM orders
SELECT histogram(status) FROM orders
SELECT * EXCLUDE (note) FROM orders
SELECT * REPLACE (round(amount) AS amount) FROM orders
SELECT * RENAME (amount AS total) FROM orders
SELECT o.* EXCLUDE (o.note), c.name FROM orders o JOIN customers c ON c.id = o.customer_id
SELECT COLUMNS('^a') FROM orders
SELECT min(COLUMNS(*)) FROM items
SELECT COLUMNS(c -> c LIKE '%id%') FROM orders
SELECT o.id, customers.* FROM orders o JOIN customers ON customers.id = o.customer_id
SELECT customers FROM customers WHERE id < 3
SELECT attrs.city, attrs['zip'], struct_extract(attrs, 'city') FROM customers
SELECT customers.attrs.city, c FROM customers, (SELECT 1 AS c)
SELECT tags[1], tags[1:2], len(tags), list_contains(tags, 'a'), array_to_string(tags, '+') FROM customers
SELECT id, unnest(tags) AS tag FROM customers
SELECT id, t.tag FROM customers, unnest(tags) AS t(tag)
SELECT c.id, u.x FROM customers c CROSS JOIN LATERAL (SELECT unnest(c.tags) AS x) u
SELECT list_transform(tags, lambda x: upper(x)) AS a, list_filter(tags, x -> x <> 'a'), [x || '!' FOR x IN tags IF x <> 'b'] AS b FROM customers
SELECT list_sort(tags), list_distinct(tags), list_reverse(tags), list_aggregate(tags, 'max'), flatten([tags, tags]) FROM customers
SELECT list_reduce([1, 2, id], lambda a, b: a + b) AS r, list_reduce([1, id], (a, b) -> a + b) FROM customers
SELECT {'a': id, 'b': name}.b, struct_pack(x := id), [1, 2, 3], MAP {'k': id}, map_keys(MAP {'k': 1}), (id, name) = (1, 'x') FROM customers
SELECT meta -> '$.color', meta ->> '$.color', json_extract_string(meta, '$.size'), json_valid(meta) FROM items
SELECT meta::JSON ->> 'color' AS color, count(*) FROM items GROUP BY color
SELECT sku, price * qty AS total, round(price * qty, 2), floor(price), ceil(price), abs(-price) FROM items
SELECT sqrt(price), ln(price + 1), power(price, 2), sign(price - 10), greatest(price, 10), least(qty, 3) FROM items
SELECT repeat('*', qty), lpad(sku, 8, '0'), rpad(sku, qty + 5, '.'), bar(price, 0, 100, 20), printf('%05d', order_id), format('{:,}', order_id) FROM items
SELECT levenshtein(sku, 'sku3'), jaccard(sku, 'sku3'), jaro_winkler_similarity(sku, 'sku4') FROM items
SELECT replace(sku, 'sku', name), length(repeat(name, id)) FROM items JOIN customers ON id = order_id
SELECT generate_series(1, 3), range(id) FROM customers WHERE id < 5
SELECT * FROM range(5)
SELECT * FROM generate_series(1, 10, 2) g(i)
SELECT d::DATE FROM generate_series(DATE '2024-01-01', DATE '2024-01-05', INTERVAL 1 DAY) t(d)
SELECT d.day, count(o.id) FROM (SELECT unnest(generate_series(DATE '2024-01-01', DATE '2024-01-10', INTERVAL 1 DAY))::DATE AS day) d LEFT JOIN orders o ON o.placed::DATE = d.day GROUP BY d.day
VALUES (1, 'a'), (2, 'b')
SELECT v.x, c.name FROM (VALUES (1), (2)) v(x) JOIN customers c ON c.id = v.x
SELECT name FROM customers WHERE id IN (VALUES (1), (2))
SELECT * FROM customers AS c(a, b) WHERE a < 3
SELECT a, b FROM (SELECT id, name FROM customers) AS s(a, b) WHERE a = 4
FROM customers
FROM customers SELECT name WHERE vip
SELECT name AS n, n || '!' AS shout FROM customers WHERE n LIKE 'c%'
SELECT total: sum(amount), n: count(*) FROM orders
SELECT id AS amount FROM orders WHERE amount > 100
SELECT status AS s, count(*) FROM orders GROUP BY s ORDER BY count(*) DESC
PIVOT orders ON status IN ('open', 'paid', 'done') USING sum(amount) GROUP BY customer_id
SELECT * FROM orders PIVOT (sum(amount) AS total, count(*) AS n FOR status IN ('open', 'paid') GROUP BY customer_id)
UNPIVOT (SELECT id, qty1, qty2 FROM (SELECT order_id AS id, qty AS qty1, qty AS qty2 FROM items)) ON qty1, qty2 INTO NAME n VALUE v
SELECT * FROM (SELECT order_id, qty, qty + 1 AS more FROM items) UNPIVOT (v FOR k IN (qty, more))
SELECT o.id, i.sku FROM orders o ASOF JOIN items i ON o.id >= i.order_id
SELECT * FROM orders o ASOF LEFT JOIN items i ON o.customer_id = i.qty AND o.id > i.order_id WHERE o.amount > 50
SELECT * FROM orders POSITIONAL JOIN items
SELECT * FROM customers NATURAL JOIN (SELECT id, amount FROM orders)
SELECT * FROM customers c JOIN orders o USING (id) WHERE c.country = 'FR' AND o.amount > 5
SELECT * FROM orders TABLESAMPLE 10%
SELECT * FROM orders USING SAMPLE 5 ROWS
SELECT id FROM orders ORDER BY amount DESC NULLS LAST, id LIMIT 5 OFFSET 2
SELECT * FROM orders ORDER BY id LIMIT 10%
SELECT name COLLATE NOCASE FROM customers ORDER BY name COLLATE NOCASE LIMIT 3
SELECT * FROM customers WHERE name = 'CUST_3' COLLATE NOCASE
SELECT country IS NULL, country IS NOT DISTINCT FROM 'FR', vip IS TRUE, vip IS NOT FALSE, NOT vip FROM customers
SELECT id BETWEEN 2 AND 4, id NOT BETWEEN 2 AND 4, id IN (1, 2), id NOT IN (3, 4) FROM customers
SELECT * FROM customers WHERE balance > 100 AND balance <= 500.50 AND id < 40 AND NOT vip AND vip = false
SELECT * FROM items WHERE price > 10.5 AND qty IN (1, 2, 3) AND qty BETWEEN 1 AND 2 AND sku >= 'sku2'
SELECT * FROM items WHERE qty > 70000 OR qty = 1
SELECT * FROM items WHERE qty > 70000
SELECT * FROM items WHERE 3 <= qty AND 5 > qty AND price = 9
SELECT * FROM orders WHERE customer_id = 7 AND customer_id = 8
SELECT * FROM orders WHERE note IS NULL AND status IS NOT NULL
SELECT a.id, b.id FROM customers a JOIN customers b ON a.country = b.country AND a.id < b.id WHERE a.country = 'FR' AND b.vip = true
SELECT lake.main.customers.id, main.customers.name FROM lake.main.customers WHERE lake.main.customers.id > 3
SELECT main.orders.amount + 1, count(*) OVER () FROM main.orders
SELECT sum(amount) AS "Total sales", avg(amount) "mean" FROM orders
SELECT o."id", "o".amount FROM "orders" AS "o"
SELECT Customers.NAME, COUNT(*) FROM CUSTOMERS GROUP BY customers.name
SELECT try(1 / 0), try(CAST('x' AS INTEGER)), 1 / 0
SELECT hash('x') IS NOT NULL, md5('x'), sha256('y'), to_base64('z'::BLOB), hex('a'), chr(65), ascii('A')
SELECT typeof(id), typeof(attrs), pi(), gcd(12, 8), factorial(5), bit_count(7), xor(5, 3), id::DECIMAL(10, 2) + DATE_DIFF('day', DATE '2020-01-01', signup + INTERVAL 1 DAY) FROM customers
SELECT make_date(2024, 1, 31), make_timestamp(2024, 1, 31, 1, 2, 3.5), to_timestamp(0) IS NOT NULL, strptime('2024-01-02', '%Y-%m-%d'), epoch(TIMESTAMP '2024-01-01')
SELECT time_bucket(INTERVAL '7 days', placed), count(*) FROM orders GROUP BY 1
SELECT cast('12:30' AS TIME), TIME '01:02:03', INTERVAL '1 day 2 hours', DATE '2024-01-01' - DATE '2023-01-01'
SELECT random() < 2, now() > TIMESTAMP '2020-01-01', current_date > DATE '2020-01-01', gen_random_uuid() IS NOT NULL
SELECT id, name FROM (SELECT id, name, row_number() OVER (ORDER BY id) AS r FROM customers) WHERE r BETWEEN 2 AND 4
SELECT x FROM (SELECT DISTINCT status AS x FROM orders) ORDER BY x DESC
SELECT count(*) FROM (SELECT * FROM orders WHERE status = 'open' LIMIT 3)
SELECT avg(n) FROM (SELECT customer_id, count(*) AS n FROM orders GROUP BY customer_id)
SELECT 100.0 * count(*) FILTER (WHERE status = 'paid') / count(*) AS pct FROM orders
SELECT status, count(*) * 100.0 / sum(count(*)) OVER () FROM orders GROUP BY status
SELECT country, max(n) FROM (SELECT country, customer_id, count(*) AS n FROM orders JOIN customers c ON c.id = customer_id GROUP BY ALL) GROUP BY country
SELECT c.country, o.status, sum(i.price * i.qty) AS revenue FROM customers c JOIN orders o ON o.customer_id = c.id JOIN items i ON i.order_id = o.id WHERE o.placed >= DATE '2024-01-10' GROUP BY 1, 2 ORDER BY revenue DESC
DESCRIBE customers
DESCRIBE SELECT id, sum(amount) FROM orders GROUP BY id
SUMMARIZE orders
SUMMARIZE SELECT qty, price FROM items
SELECT column_name FROM (DESCRIBE customers)
TABLE customers
SELECT attrs.* FROM customers
SELECT c.attrs.city, c.id FROM customers c
SELECT count(*) FROM customers c WHERE EXISTS (SELECT DISTINCT * FROM orders o WHERE o.customer_id = c.id OFFSET 2)
SELECT count(*) FROM customers c WHERE EXISTS (SELECT * FROM orders o WHERE o.customer_id = c.id GROUP BY ALL)
SELECT count(*) FROM (SELECT DISTINCT * FROM items)
SELECT count(*) FROM (SELECT qty FROM items UNION SELECT id FROM customers)
SELECT * FROM events WHERE seen >= '2024-01-05' AND seen < TIMESTAMP '2024-02-01 12:00:00' AND kind = 'a'
SELECT * FROM events WHERE seen >= TIMESTAMPTZ '2024-01-05 00:00:00+02' AND seen BETWEEN DATE '2024-01-01' AND '2024-01-31 10:00:00.5Z'
SELECT kind, count(*) FROM events WHERE seen > '2024-01-10 10:00:00+05:30' AND weight < 0.5 AND big = 12345678901234567890 GROUP BY kind
SELECT * FROM events WHERE weight = 0.25 OR tiny = 300
SELECT * FROM events WHERE tiny = 300 AND kind <> 'b'
SELECT * FROM events WHERE tiny > -129 AND tiny <= 127 AND tiny >= -128 AND u8 < 256 AND u8 >= 0 AND u8 > -1
SELECT * FROM events e LEFT JOIN customers c ON c.id = e.id AND c.country IS NULL WHERE e.flag = true
SELECT * FROM customers c LEFT JOIN events e ON c.id = e.id AND e.kind IS NULL WHERE e.kind IS NULL AND c.country IS NULL
SELECT tags[2:], tags[:2], tags[:], tags[:-:2], tags[id:-:1], name[2:], name[:-2] FROM customers
SELECT [1, 2, 3][2:] AS x, name FROM customers WHERE len(tags[2:]) > 1
SELECT id.abs(), name.upper().lower(), customers.id.abs() + 1 FROM customers
SELECT c.name.length() AS n, c.tags.list_transform(lambda x: x.upper()) FROM customers c WHERE c.id.abs() > 3 ORDER BY c.name.length(), c.id.abs()
SELECT country.lower(), id.max() FROM customers GROUP BY country.lower()
SELECT 5., -5., 5. + 1, id + 5. FROM customers WHERE id > 5.
SELECT 1e400, -1e400 IS NULL, 1e400 > id FROM customers
SELECT id FROM events WHERE weight < 1e400 AND id < 20
