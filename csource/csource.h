// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * libclang, loaded when a C file is read: commands that read none run without it. One loader for
 * all rooms that read C. Not shared between threads.
 */
#ifndef CSOURCE_CSOURCE_H
#define CSOURCE_CSOURCE_H

#include <clang-c/Index.h>

#include "base/base.h"

// Formatting this does not come to an end:
// clang-format off
#define CSRC_CLANG(F) \
	F(createIndex) F(disposeIndex) F(parseTranslationUnit2) F(disposeTranslationUnit) \
	F(getTranslationUnitCursor) F(visitChildren) F(getCursorKind) F(getCursorType) \
	F(getCanonicalType) F(getPointeeType) F(getTypeDeclaration) F(getCursorSpelling) \
	F(getCString) F(disposeString) F(getCursorExtent) F(getRangeStart) F(getRangeEnd) \
	F(getExpansionLocation) F(getCursorReferenced) F(getNumDiagnostics) F(getDiagnostic) \
	F(getDiagnosticSeverity) F(formatDiagnostic) F(disposeDiagnostic) F(Cursor_Evaluate) \
	F(EvalResult_getKind) F(EvalResult_getAsLongLong) F(EvalResult_dispose) \
	F(equalCursors) F(getCursorResultType) F(Location_isFromMainFile) \
	F(isCursorDefinition) F(Cursor_getStorageClass) F(getTypeSpelling) \
	F(getCursorLocation) F(getCursorDefinition) F(Type_getSizeOf) F(getFile) \
	F(getLocationForOffset) F(getRange) F(tokenize) F(disposeTokens) F(annotateTokens) \
	F(getTokenKind) F(getTokenSpelling) F(getTokenExtent) F(getArrayElementType) \
	F(isExpression)
// clang-format on

struct csrc_clang {
#define F(name) __typeof__(clang_##name) *name;
	CSRC_CLANG(F)
#undef F
};

/** @param ret  libclang's functions, without clang_ before their names; they stay.
 * @return ERR_NOT_FOUND when libclang is not there, or too old. */
struct err *csrc_clang_load(const struct csrc_clang **ret);

#endif
