// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -O0

/**
 * @file
 * framesets FILE: the parser of paper 002's Figure 4.1, with its bug: FindBody() supposes that the
 * noframe is in the outermost frameset. H header, S frameset, F frame, N noframe, B body, P
 * paragraph; "x" a text; / ends what is open. Crashes in AddChild(), where p is NULL.
 */
#include <stdio.h>
#include <stdlib.h>

enum { FALSE, TRUE };
typedef enum { fSTag, noFTag, fTag, bTag, pTag } NodeType;

typedef struct Node {
	NodeType type;
	struct Node *firstChild, *lastChild, *sibling;
} Node;

typedef struct Stream {
	char buf[65536];
	char *r_ptr, *r_end;
	FILE *from;
} Stream;

static struct {
	int seeEndBody; // the paper's TRUE and FALSE: tests of a bool are none for equality
	Node *fS;
} Doc, *doc = &Doc;
static Stream *fin;

static void Warn(const char *what)
{
	fprintf(stderr, "%s\n", what);
}

static int RefillBuf(Stream *fp)
{
	size_t n = fread(fp->buf, 1, sizeof(fp->buf), fp->from);

	if (!n)
		return 0;
	fp->r_ptr = fp->buf;
	fp->r_end = fp->buf + n;
	return *(fp->r_ptr++);
}

static char GetChar(Stream *fp)
{
	if (fp->r_ptr >= fp->r_end)
		return RefillBuf(fp);
	return *(fp->r_ptr++);
}

static void Ungetc(char c, Stream *fp)
{
	if (c && fp->r_ptr > fp->buf)
		fp->r_ptr--;
}

static char PeekChar(Stream *fp)
{
	char c = GetChar(fp);

	Ungetc(c, fp);
	return c;
}

static Node *NewNode(NodeType type)
{
	Node *node = malloc(sizeof(*node));

	node->type = type;
	node->firstChild = NULL;
	node->lastChild = NULL;
	node->sibling = NULL;
	return node;
}

static void AddChild(Node *p, Node *c)
{
	if (p->lastChild != NULL) // crash: p is NULL
		p->lastChild->sibling = c;
	else
		p->firstChild = c;
	p->lastChild = c;
}

static void ParseTextNode(Node *p)
{
	char c = GetChar(fin);

	(void)p;
	if (c == '"') {
		c = GetChar(fin);
		c = GetChar(fin);
		if (c != '"')
			Warn("text");
	} else {
		Ungetc(c, fin);
	}
}

static void ParseParagraphs(Node *b)
{
	char c = GetChar(fin);

	while (c == 'P') {
		Node *p = NewNode(pTag);

		AddChild(b, p);
		ParseTextNode(p);
		c = GetChar(fin);
		if (c == '/') {
			c = GetChar(fin);
			if (c != 'P')
				Warn("paragraph");
		} else {
			Warn("paragraph");
		}
		c = GetChar(fin);
	}
	Ungetc(c, fin);
}

static void ConsumeParagraphs(void)
{
	char c = GetChar(fin);

	while (c == 'P') {
		ParseTextNode(NULL);
		c = GetChar(fin);
		if (c == '/')
			c = GetChar(fin);
		else
			Warn("paragraph");
		c = GetChar(fin);
	}
	Ungetc(c, fin);
}

static Node *FindBody(void)
{
	Node *node = doc->fS;

	if (node == NULL)
		return NULL;
	node = node->firstChild;
	while (node && node->type != noFTag)
		node = node->sibling;
	if (node) {
		node = node->firstChild;
		while (node && node->type != bTag)
			node = node->sibling;
	}
	return node;
}

static void HandlePsOutsideBody(void)
{
	if (doc->seeEndBody == TRUE) {
		Node *body = FindBody();

		ParseParagraphs(body);
	} else {
		ConsumeParagraphs();
	}
}

static void ParseBody(Node *noF)
{
	char c = GetChar(fin);

	if (c == 'B') {
		Node *body = NewNode(bTag);

		AddChild(noF, body);
		ParseParagraphs(body);
		c = GetChar(fin);
		if (c == '/') {
			c = GetChar(fin);
			if (c == 'B')
				doc->seeEndBody = TRUE;
			else
				Warn("body");
		} else {
			Warn("body");
		}
	} else {
		Ungetc(c, fin);
	}
}

static void ParseNoFrame(Node *fS)
{
	char c = GetChar(fin);

	if (c == 'N') {
		Node *noF = NewNode(noFTag);

		AddChild(fS, noF);
		HandlePsOutsideBody();
		ParseBody(noF);
		HandlePsOutsideBody();
		c = GetChar(fin);
		if (c == '/')
			c = GetChar(fin);
		else
			Warn("noframe");
	} else {
		Ungetc(c, fin);
	}
}

static void ParseFrame(Node *fS)
{
	char c = GetChar(fin);

	if (c == 'F') {
		Node *f = NewNode(fTag);

		AddChild(fS, f);
	}
}

static void ParseFrameSet(Node *p)
{
	Node *fS = NULL;
	char c = GetChar(fin);

	if (c == 'S') {
		fS = NewNode(fSTag);
		if (p)
			AddChild(p, fS);
		if (doc->fS == NULL)
			doc->fS = fS;
		c = PeekChar(fin);
		while (c == 'S' || c == 'F') {
			if (c == 'S')
				ParseFrameSet(fS);
			else
				ParseFrame(fS);
			c = PeekChar(fin);
		}
		ParseNoFrame(fS);
		c = GetChar(fin);
		if (c == '/')
			c = GetChar(fin);
	} else {
		Ungetc(c, fin);
	}
}

static void ParseHead(void)
{
	char c = GetChar(fin);

	if (c == 'H') {
		c = GetChar(fin);
		if (c == '"') {
			c = GetChar(fin);
			c = GetChar(fin);
			c = GetChar(fin);
		}
		if (c == '/')
			c = GetChar(fin);
	} else {
		Ungetc(c, fin);
	}
}

int main(int argc, char **argv)
{
	fin = calloc(1, sizeof(*fin));
	fin->r_ptr = fin->r_end = fin->buf;
	fin->from = argc > 1 ? fopen(argv[1], "r") : stdin;
	if (!fin->from)
		return 2;
	doc->seeEndBody = FALSE;
	doc->fS = NULL;
	ParseHead();
	ParseFrameSet(NULL);
	return 0;
}
