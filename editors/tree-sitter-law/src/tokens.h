// Made from the tables of the language by `python -m lawdsl.highlighting`; do not edit.

#ifndef LAW_TOKENS_H_
#define LAW_TOKENS_H_

#include <stdint.h>

// In the order of `externals` in grammar.js.
enum Token {
  TOKEN_KIND,
  TOKEN_TREND,
  TOKEN_OVER,
  TOKEN_SIMPLEX,
  TOKEN_INTEGER,
  TOKEN_AGAINST,
  TOKEN_GIVEN,
  TOKEN_STEP,
  TOKEN_KEEP,
  TOKEN_FROM,
  TOKEN_SINCE,
  TOKEN_BY,
  TOKEN_WHERE,
  TOKEN_AT,
  TOKEN_USES,
  TOKEN_CHOOSE,
  TOKEN_SUBJECT,
  TOKEN_TO,
  TOKEN_PRIOR,
  TOKEN_NOTE,
  TOKEN_IF,
  TOKEN_THEN,
  TOKEN_ELSE,
  TOKEN_FIX,
  TOKEN_TIE,
  TOKEN_UNEQUAL,
  TOKEN_RELATION,
  TOKEN_PLUS,
  TOKEN_MINUS,
  TOKEN_PLUSMINUS,
  TOKEN_STAR,
  TOKEN_SLASH,
  TOKEN_LPAR,
  TOKEN_RPAR,
  TOKEN_RSQB,
  TOKEN_RBRACE,
  TOKEN_DEL,
  TOKEN_ORDER,
  TOKEN_NUMBER,
  TOKEN_NAME,
  TOKEN_STRING,
  TOKEN_SOURCE,
  TOKEN_EXTENDS,
  TOKEN_INDEX,
  TOKEN_VARIABLE,
  TOKEN_SETTING,
  TOKEN_EQUAL,
  TOKEN_PARAMETER,
  TOKEN_LET,
  TOKEN_COMMA,
  TOKEN_MEASURE,
  TOKEN_IDENTIFY,
  TOKEN_FOR,
  TOKEN_EXPECT,
  TOKEN_REQUIRE,
  TOKEN_MINIMIZE,
  TOKEN_START,
  TOKEN_IN,
  TOKEN_LBRACE,
  TOKEN_COLON,
  TOKEN_MAXIMIZE,
  TOKEN_LSQB,
  TOKEN_RANGE,
  TOKEN_UNIT,
  TOKEN_CIRCUMFLEX,
  TOKEN_FINITE,
  TOKEN_ARROW,
  TOKEN_AS,
  TOKEN_IS,
  TOKEN_DOT,
  TOKEN_ELLIPSIS,
  TOKEN_COMMENT,
  TOKEN_LINE_END,
  TOKEN_LINE_JOINT,
  TOKEN_ILLEGAL,
  NO_TOKEN,
};

enum { IS_STATEMENT = 1, IS_LEADING = 2, IS_PLACED = 4, IS_PIECEWISE = 8 };

// home: the bit of a statement that other words have a place in; within: the statements that a
// word has its place in; behind: the tokens behind which it has it.
typedef struct {
  const char *text;
  uint8_t token;
  uint8_t flags;
  uint16_t home;
  uint16_t within;
  uint16_t behind;
} Word;

static const Word WORDS[] = {
  {"against", TOKEN_AGAINST, IS_PLACED, 0x0, 0x20, 0x5},
  {"as", TOKEN_AS, 0, 0x0, 0x0, 0x0},
  {"at", TOKEN_AT, IS_PLACED, 0x0, 0x40, 0x7d},
  {"by", TOKEN_BY, IS_PLACED, 0x0, 0x40, 0x19},
  {"choose", TOKEN_CHOOSE, IS_LEADING, 0x10, 0x0, 0x0},
  {"concave", TOKEN_TREND, 0, 0x0, 0x0, 0x0},
  {"convex", TOKEN_TREND, 0, 0x0, 0x0, 0x0},
  {"decreasing", TOKEN_TREND, 0, 0x0, 0x0, 0x0},
  {"else", TOKEN_ELSE, IS_PIECEWISE, 0x0, 0x0, 0x0},
  {"expect", TOKEN_EXPECT, 0, 0x0, 0x0, 0x0},
  {"extends", TOKEN_EXTENDS, IS_STATEMENT, 0x0, 0x0, 0x0},
  {"finite", TOKEN_FINITE, 0, 0x0, 0x0, 0x0},
  {"fix", TOKEN_FIX, IS_STATEMENT, 0x0, 0x0, 0x0},
  {"for", TOKEN_FOR, 0, 0x0, 0x0, 0x0},
  {"from", TOKEN_FROM, IS_PLACED, 0x0, 0xc0, 0x1},
  {"given", TOKEN_GIVEN, IS_LEADING, 0x8, 0x0, 0x0},
  {"identify", TOKEN_IDENTIFY, IS_STATEMENT, 0x0, 0x0, 0x0},
  {"if", TOKEN_IF, IS_PIECEWISE, 0x0, 0x0, 0x0},
  {"in", TOKEN_IN, 0, 0x0, 0x0, 0x0},
  {"increasing", TOKEN_TREND, 0, 0x0, 0x0, 0x0},
  {"index", TOKEN_INDEX, IS_STATEMENT, 0x1, 0x0, 0x0},
  {"integer", TOKEN_INTEGER, IS_PLACED, 0x0, 0x10, 0x5},
  {"is", TOKEN_IS, 0, 0x0, 0x0, 0x0},
  {"keep", TOKEN_KEEP, IS_LEADING, 0x80, 0x0, 0x0},
  {"law", TOKEN_KIND, IS_STATEMENT, 0x0, 0x0, 0x0},
  {"let", TOKEN_LET, IS_STATEMENT, 0x0, 0x0, 0x0},
  {"maximize", TOKEN_MAXIMIZE, IS_STATEMENT, 0x0, 0x0, 0x0},
  {"measure", TOKEN_MEASURE, IS_STATEMENT, 0x0, 0x0, 0x0},
  {"minimize", TOKEN_MINIMIZE, IS_STATEMENT, 0x0, 0x0, 0x0},
  {"note", TOKEN_NOTE, IS_LEADING, 0x0, 0x0, 0x0},
  {"over", TOKEN_OVER, IS_PLACED, 0x0, 0x1, 0x1},
  {"parameter", TOKEN_PARAMETER, IS_STATEMENT, 0x4, 0x0, 0x0},
  {"pipeline", TOKEN_KIND, IS_STATEMENT, 0x0, 0x0, 0x0},
  {"prior", TOKEN_PRIOR, IS_LEADING, 0x0, 0x0, 0x0},
  {"question", TOKEN_KIND, IS_STATEMENT, 0x0, 0x0, 0x0},
  {"require", TOKEN_REQUIRE, IS_STATEMENT, 0x20, 0x0, 0x0},
  {"setting", TOKEN_SETTING, IS_STATEMENT, 0x0, 0x0, 0x0},
  {"simplex", TOKEN_SIMPLEX, IS_PLACED, 0x0, 0x1e, 0x2},
  {"since", TOKEN_SINCE, IS_PLACED, 0x0, 0x40, 0x1},
  {"source", TOKEN_SOURCE, IS_STATEMENT, 0x0, 0x0, 0x0},
  {"start", TOKEN_START, IS_STATEMENT, 0x0, 0x0, 0x0},
  {"step", TOKEN_STEP, IS_LEADING, 0x40, 0x0, 0x0},
  {"subject", TOKEN_SUBJECT, IS_LEADING, 0x100, 0x0, 0x0},
  {"then", TOKEN_THEN, IS_PIECEWISE, 0x0, 0x0, 0x0},
  {"tie", TOKEN_TIE, IS_STATEMENT, 0x0, 0x0, 0x0},
  {"to", TOKEN_TO, IS_PLACED, 0x0, 0x100, 0x80},
  {"unit", TOKEN_UNIT, 0, 0x0, 0x0, 0x0},
  {"uses", TOKEN_USES, IS_LEADING, 0x0, 0x0, 0x0},
  {"variable", TOKEN_VARIABLE, IS_STATEMENT, 0x2, 0x0, 0x0},
  {"where", TOKEN_WHERE, IS_PLACED, 0x0, 0xc0, 0x19},
};

enum { WORD_COUNT = 50, LONGEST_WORD = 10 };

static inline uint16_t place_behind(uint8_t token) {
  switch (token) {
    case TOKEN_NAME:
      return 0x1;
    case TOKEN_IN:
      return 0x2;
    case TOKEN_RSQB:
      return 0x4;
    case TOKEN_NUMBER:
      return 0x8;
    case TOKEN_RPAR:
      return 0x10;
    case TOKEN_STRING:
      return 0x20;
    case TOKEN_ORDER:
      return 0x40;
    case TOKEN_SUBJECT:
      return 0x80;
    default:
      return 0;
  }
}

#endif
