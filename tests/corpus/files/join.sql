-- Run with a parameter :n, the number of rows.
create table t (a integer, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < :n)
insert into t select i * 7919 % 10007, printf('%08d', i * 104729 % 1000003) from n;
select count(*), sum(x.a), min(x.b), max(y.b) from t x join t y on y.a = (x.a * 31) % 10007;
select a % 10, count(distinct b), group_concat(substr(b, 8), '') is not null from t
	group by 1 order by 1;
select substr(b, 1, 2) as p, count(*), avg(a) from t group by p order by p limit 5;
