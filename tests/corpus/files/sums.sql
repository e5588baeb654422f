create table item (id integer primary key, name text, parent integer, weight real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
insert into item select i, 'node' || (i * 7919 % 1009), i / 2, i % 17 / 4.0 from n;
create index item_name on item (name);
create index item_parent on item (parent);
select count(*), sum(weight), min(name), max(name) from item;
select name, count(*) as n, round(avg(weight), 6) from item
	group by name order by n desc, name limit 10;
with recursive up(id, depth) as (select 4999, 0
	union all select parent, depth + 1 from item join up using (id) where parent > 0)
select id, depth from up;
select a.id, b.id from item a join item b on b.parent = a.id and b.name < a.name
	where a.weight > 4 order by a.id, b.id limit 10;
update item set weight = weight * 2 where id % 3 = 0;
delete from item where id % 7 = 0;
select count(*), sum(weight) from item;
pragma integrity_check;
