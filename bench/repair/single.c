// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Singly linked lists: of table 2 of paper 004, what `faultline bench repair' puts faults into.
// Each function has its test, which makes a list from input().
#include <stdlib.h>

struct node {
	int data;
	struct node *next;
};

int input(void);

struct node *head, *tail, *other;
int total;

static struct node *make(int data, struct node *next)
{
	struct node *n = malloc(sizeof(*n));

	n->data = data;
	n->next = next;
	return n;
}

static struct node *build(int least)
{
	struct node *first = NULL;
	int n = input() % 5 + least;

	while (n > 0) {
		first = make(input() % 10, first);
		n = n - 1;
	}
	return first;
}

static struct node *build_sorted(int least, int sign)
{
	struct node *first = NULL;
	int n = input() % 5 + least, from = sign * (input() % 4);

	while (n > 0) {
		first = make(from, first);
		from = from - sign * (input() % 4);
		n = n - 1;
	}
	return first;
}

void B1_reverse(void)
{
	struct node *current, *before, *after;

	before = NULL;
	current = head;
	while (current != NULL) {
		after = current->next;
		current->next = before;
		before = current;
		current = after;
	}
	head = before;
}

void test_B1(void)
{
	head = build(2);
	B1_reverse();
}

void B3_delete(int key)
{
	struct node *current, *before;

	before = NULL;
	current = head;
	while (current != NULL && current->data != key) {
		before = current;
		current = current->next;
	}
	if (current != NULL) {
		if (before == NULL) {
			head = current->next;
		} else {
			before->next = current->next;
		}
		free(current);
	}
}

void test_B3(void)
{
	int key = input() % 10;

	head = build(2);
	B3_delete(key);
}

void B5_sorted_insert(struct node *fresh)
{
	struct node *current;

	if (head == NULL || head->data >= fresh->data) {
		fresh->next = head;
		head = fresh;
	} else {
		current = head;
		while (current->next != NULL && current->next->data < fresh->data) {
			current = current->next;
		}
		fresh->next = current->next;
		current->next = fresh;
	}
}

void test_B5(void)
{
	struct node *fresh = make(input() % 12 - 8, NULL);

	head = build_sorted(1, 1);
	B5_sorted_insert(fresh);
}

void B6_insert(struct node *fresh, int position)
{
	struct node *current;
	int at;

	if (position == 0) {
		fresh->next = head;
		head = fresh;
	} else {
		current = head;
		at = 1;
		while (at < position && current->next != NULL) {
			current = current->next;
			at = at + 1;
		}
		fresh->next = current->next;
		current->next = fresh;
	}
}

void test_B6(void)
{
	int position = input() % 6;
	struct node *fresh = make(input() % 10, NULL);

	head = build(1);
	B6_insert(fresh, position);
}

/* The nodes behind two others, which are no neighbours. */
void B7_swap(struct node *first, struct node *second)
{
	struct node *x, *y, *rest;

	x = first->next;
	y = second->next;
	if (x != NULL && y != NULL) {
		first->next = y;
		second->next = x;
		rest = y->next;
		y->next = x->next;
		x->next = rest;
	}
}

void test_B7(void)
{
	struct node *second;
	int by = input() % 3;

	head = build(4);
	second = head->next->next;
	while (by > 0 && second->next != NULL) {
		second = second->next;
		by = by - 1;
	}
	B7_swap(head, second);
}

int B10_length(void)
{
	struct node *current;
	int count;

	count = 0;
	current = head;
	while (current != NULL) {
		count = count + 1;
		current = current->next;
	}
	return count;
}

void test_B10(void)
{
	head = build(2);
	total = B10_length();
}

/* Nothing is printed here: what would be adds up. */
void B11_print(void)
{
	struct node *current;

	current = head;
	total = 0;
	while (current != NULL) {
		total = total + current->data;
		current = current->next;
	}
}

void test_B11(void)
{
	head = build(2);
	B11_print();
}

void B19_enqueue(int data)
{
	struct node *fresh = malloc(sizeof(*fresh));

	fresh->data = data;
	fresh->next = NULL;
	if (tail == NULL) {
		head = fresh;
		tail = fresh;
	} else {
		tail->next = fresh;
		tail = fresh;
	}
}

void test_B19(void)
{
	int data = input() % 10, n = input() % 4;

	while (n > 0) {
		head = make(input() % 10, head);
		if (tail == NULL)
			tail = head;
		n = n - 1;
	}
	B19_enqueue(data);
}

void L1_delete_middle(void)
{
	struct node *slow, *fast, *before, *after;

	if (head != NULL) {
		if (head->next == NULL) {
			free(head);
			head = NULL;
		} else {
			slow = head;
			fast = head;
			before = NULL;
			while (fast != NULL && fast->next != NULL) {
				after = fast->next;
				fast = after->next;
				before = slow;
				slow = slow->next;
			}
			after = slow->next;
			before->next = after;
			free(slow);
		}
	}
}

void test_L1(void)
{
	head = build(3);
	L1_delete_middle();
}

void L2_remove_duplicates(void)
{
	struct node *current, *runner, *double_;

	current = head;
	while (current != NULL) {
		runner = current;
		while (runner->next != NULL) {
			double_ = runner->next;
			if (double_->data == current->data) {
				runner->next = double_->next;
				free(double_);
			} else {
				runner = runner->next;
			}
		}
		current = current->next;
	}
}

void test_L2(void)
{
	struct node *n;

	head = build(3);
	n = head;
	while (n != NULL) {
		n->data = n->data % 3;
		n = n->next;
	}
	L2_remove_duplicates();
}

void L3_last_to_first(void)
{
	struct node *last, *before;

	if (head != NULL && head->next != NULL) {
		before = NULL;
		last = head;
		while (last->next != NULL) {
			before = last;
			last = last->next;
		}
		before->next = NULL;
		last->next = head;
		head = last;
		tail = before;
	}
}

void test_L3(void)
{
	head = build(2);
	L3_last_to_first();
}

/* Of two sorted lists, what both have, to the end of a third. */
void L4_intersection(struct node *a, struct node *b)
{
	struct node *fresh;

	while (a != NULL && b != NULL) {
		if (a->data == b->data) {
			fresh = malloc(sizeof(*fresh));
			fresh->data = a->data;
			fresh->next = NULL;
			if (tail == NULL) {
				head = fresh;
			} else {
				tail->next = fresh;
			}
			tail = fresh;
			a = a->next;
			b = b->next;
		} else {
			if (a->data < b->data) {
				a = a->next;
			} else {
				b = b->next;
			}
		}
	}
}

void test_L4(void)
{
	struct node *a = build_sorted(1, 1), *b = build_sorted(1, 1);

	L4_intersection(a, b);
}

/* The first half stays, the second goes to `other'. */
void L5_split(void)
{
	struct node *slow, *fast;

	if (head == NULL || head->next == NULL) {
		other = NULL;
	} else {
		slow = head;
		fast = head->next;
		while (fast != NULL) {
			fast = fast->next;
			if (fast != NULL) {
				slow = slow->next;
				fast = fast->next;
			}
		}
		other = slow->next;
		slow->next = NULL;
	}
}

void test_L5(void)
{
	head = build(2);
	L5_split();
}

/* Smaller ones before, in the order that they have. */
void L6_partition(int pivot)
{
	struct node *current, *less, *last_less, *more, *last_more;

	less = NULL;
	last_less = NULL;
	more = NULL;
	last_more = NULL;
	current = head;
	while (current != NULL) {
		if (current->data < pivot) {
			if (less == NULL) {
				less = current;
			} else {
				last_less->next = current;
			}
			last_less = current;
		} else {
			if (more == NULL) {
				more = current;
			} else {
				last_more->next = current;
			}
			last_more = current;
		}
		current = current->next;
	}
	if (last_more != NULL) {
		last_more->next = NULL;
	}
	if (less == NULL) {
		head = more;
	} else {
		last_less->next = more;
		head = less;
	}
}

void test_L6(void)
{
	int pivot = input() % 10;

	head = build(3);
	L6_partition(pivot);
}

/* Not the head's pointer: what comes behind moves up. */
void L7_delete_node(struct node *which)
{
	struct node *before, *after;

	if (head == which) {
		if (head->next != NULL) {
			after = head->next;
			head->data = after->data;
			head->next = after->next;
			free(after);
		}
	} else {
		before = head;
		while (before->next != NULL && before->next != which) {
			before = before->next;
		}
		if (before->next != NULL) {
			before->next = which->next;
			free(which);
		}
	}
}

void test_L7(void)
{
	struct node *which;
	int by = input() % 5;

	head = build(2);
	which = head;
	while (by > 0 && which->next != NULL) {
		which = which->next;
		by = by - 1;
	}
	L7_delete_node(which);
}

void L9_middle_as_head(void)
{
	struct node *slow, *fast, *before;

	if (head != NULL) {
		slow = head;
		fast = head;
		before = NULL;
		while (fast != NULL && fast->next != NULL) {
			before = slow;
			slow = slow->next;
			fast = fast->next->next;
		}
		if (before != NULL) {
			before->next = slow->next;
			slow->next = head;
			head = slow;
		}
	}
}

void test_L9(void)
{
	head = build(2);
	L9_middle_as_head();
}

/* Nodes of `other' between those of `head', as long as there are. */
void L10_merge_alternately(void)
{
	struct node *p, *q, *p_next, *q_next;

	p = head;
	q = other;
	while (p != NULL && q != NULL) {
		p_next = p->next;
		q_next = q->next;
		q->next = p_next;
		p->next = q;
		p = p_next;
		q = q_next;
	}
	other = q;
}

void test_L10(void)
{
	head = build(2);
	other = build(2);
	L10_merge_alternately();
}

void L11_delete_value(int key)
{
	struct node *current, *before, *after;

	before = NULL;
	current = head;
	while (current != NULL) {
		after = current->next;
		if (current->data == key) {
			if (before == NULL) {
				head = after;
			} else {
				before->next = after;
			}
			free(current);
		} else {
			before = current;
		}
		current = after;
	}
}

void test_L11(void)
{
	struct node *n;

	head = build(3);
	n = head;
	while (n != NULL) {
		n->data = n->data % 3;
		n = n->next;
	}
	L11_delete_value(1);
}

void L13_pairwise_swap(void)
{
	struct node *current, *before, *second;

	before = NULL;
	current = head;
	while (current != NULL && current->next != NULL) {
		second = current->next;
		current->next = second->next;
		second->next = current;
		if (before == NULL) {
			head = second;
		} else {
			before->next = second;
		}
		before = current;
		current = current->next;
	}
}

void test_L13(void)
{
	head = build(3);
	L13_pairwise_swap();
}

/* First, last, second, last but one and so on. */
void L14_rearrange(void)
{
	struct node *slow, *fast, *second, *before, *after;

	if (head != NULL) {
		slow = head;
		fast = head->next;
		while (fast != NULL && fast->next != NULL) {
			slow = slow->next;
			fast = fast->next;
			fast = fast->next;
		}
		second = slow->next;
		slow->next = NULL;
		before = NULL;
		while (second != NULL) {
			after = second->next;
			second->next = before;
			before = second;
			second = after;
		}
		slow = head;
		while (before != NULL) {
			after = before->next;
			before->next = slow->next;
			slow->next = before;
			slow = before->next;
			before = after;
		}
	}
}

void test_L14(void)
{
	head = build(3);
	L14_rearrange();
}

/* Sorted by the absolute value becomes sorted by the value. */
void L15_absolute_sort(void)
{
	struct node *current, *before;

	if (head != NULL) {
		before = head;
		current = head->next;
		while (current != NULL) {
			if (current->data < before->data) {
				before->next = current->next;
				current->next = head;
				head = current;
				current = before;
			} else {
				before = current;
			}
			current = current->next;
		}
	}
}

void test_L15(void)
{
	int n = input() % 5 + 2, value = 20;

	while (n > 0) {
		value = value - 1 - input() % 3;
		if (input() % 2)
			head = make(value, head);
		else
			head = make(0 - value, head);
		n = n - 1;
	}
	L15_absolute_sort();
}

void L16_quicksort(struct node *first, struct node *last)
{
	struct node *border, *current, *middle;
	int pivot, held;

	if (first != NULL && last != NULL && first != last) {
		pivot = first->data;
		border = first;
		current = first;
		while (current != last) {
			current = current->next;
			if (current->data < pivot) {
				border = border->next;
				held = current->data;
				current->data = border->data;
				border->data = held;
			}
		}
		held = first->data;
		first->data = border->data;
		border->data = held;
		middle = first;
		while (middle->next != border && middle != border) {
			middle = middle->next;
		}
		if (border != first) {
			L16_quicksort(first, middle);
		}
		if (border != last) {
			L16_quicksort(border->next, last);
		}
	}
}

void test_L16(void)
{
	struct node *last;

	head = build(3);
	last = head;
	while (last->next != NULL)
		last = last->next;
	L16_quicksort(head, last);
}

void L18_sorted_insert(struct node *fresh)
{
	struct node *current, *before;

	if (head == NULL) {
		fresh->next = NULL;
		head = fresh;
		tail = fresh;
	} else {
		before = NULL;
		current = head;
		while (current != NULL && current->data < fresh->data) {
			before = current;
			current = current->next;
		}
		fresh->next = current;
		if (before == NULL) {
			head = fresh;
		} else {
			before->next = fresh;
		}
		if (current == NULL) {
			tail = fresh;
		}
	}
	total = total + 1;
}

void test_L18(void)
{
	struct node *fresh = make(input() % 12 - 8, NULL);

	head = build_sorted(1, 1);
	tail = head;
	while (tail->next != NULL)
		tail = tail->next;
	L18_sorted_insert(fresh);
}

/* What has a larger value behind it goes. */
void L20_constrained_deletion(void)
{
	struct node *current, *before, *after;
	int most;

	before = NULL;
	current = head;
	while (current != NULL) {
		after = current->next;
		current->next = before;
		before = current;
		current = after;
	}
	current = before;
	before = NULL;
	most = 0;
	while (current != NULL) {
		after = current->next;
		if (current->data >= most) {
			most = current->data;
			current->next = before;
			before = current;
		} else {
			free(current);
		}
		current = after;
	}
	head = before;
}

void test_L20(void)
{
	head = build(3);
	L20_constrained_deletion();
}
