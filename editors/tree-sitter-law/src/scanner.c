// The tokens of .law files, and the ends of their logical lines.
//
// The counterpart in Python: logical_lines in lawdsl/language/lexer.py and with_types in
// lawdsl/language/parser.py. A line break ends a statement, unless a bracket is open or an operator
// stands before it; and it always does where the next line begins a statement or an equation.
// Words such as `by` are keywords in their places and names elsewhere, so all tokens are read
// here, whatever the parser expects.

#include <stdbool.h>
#include <string.h>

#include "tokens.h"
#include "tree_sitter/alloc.h"
#include "tree_sitter/parser.h"

typedef struct {
  uint16_t depth;    // of brackets
  uint16_t home;     // the bit of the first word among statements that words have a place in
  uint8_t first;     // the first token of the line
  uint8_t before;    // the last token but one
  uint8_t last;      // the last token
  uint8_t has_if;    // whether the line has a word `if`, name or not
  uint8_t has_typed_if;
  uint8_t uses;      // whether the first word is `uses`, name or not
  uint8_t last_is_piecewise;  // whether the last word is `if`, `then` or `else`, name or not
  uint8_t joined;    // whether the line is known to continue behind the breaks before the next token
} State;

typedef struct {
  bool exists, is_statement, is_equation, is_dot, is_then_or_else, begins_formula;
} Following;

static void clear(State *state) {
  memset(state, 0, sizeof *state);
  state->first = state->before = state->last = NO_TOKEN;
}

static bool is_greek(int32_t c) {
  return (c >= 0x391 && c <= 0x3A9 && c != 0x3A2) || (c >= 0x3B1 && c <= 0x3C9) || c == 0x3D1 ||
         c == 0x3D5 || c == 0x3F5;
}

static bool is_letter(int32_t c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || is_greek(c);
}

static bool is_digit(int32_t c) { return c >= '0' && c <= '9'; }

static bool begins_name(int32_t c) { return is_letter(c) || c == 0x221E; }

static void advance(TSLexer *lexer) { lexer->advance(lexer, false); }

// Reads a word; NULL for a name that is in no table.
static const Word *read_word(TSLexer *lexer) {
  char text[LONGEST_WORD + 1];
  unsigned length = 0;
  do {
    if (length <= LONGEST_WORD) {
      if (length < LONGEST_WORD && lexer->lookahead < 0x80) {
        text[length++] = (char)lexer->lookahead;
      } else {
        length = LONGEST_WORD + 1;  // none of the table
      }
    }
    advance(lexer);
  } while (is_letter(lexer->lookahead) || is_digit(lexer->lookahead));
  if (length > LONGEST_WORD) return NULL;
  text[length] = 0;
  for (unsigned n = 0; n < WORD_COUNT; n++) {
    if (strcmp(WORDS[n].text, text) == 0) return &WORDS[n];
  }
  return NULL;
}

static bool is_name(const Word *word) {
  return word == NULL || (word->flags & (IS_LEADING | IS_PLACED | IS_PIECEWISE)) != 0;
}

// Reads a string; false where it is not closed on its line. A quotation mark in it is doubled. As a
// token it ends behind its last possible end, or behind the first mark where there is none.
static bool read_string(TSLexer *lexer, bool as_token) {
  advance(lexer);
  if (as_token) lexer->mark_end(lexer);
  if (lexer->lookahead == '"') {
    advance(lexer);
    if (as_token) lexer->mark_end(lexer);
    return true;
  }
  bool closed = false;
  while (!lexer->eof(lexer) && lexer->lookahead != '\n' && lexer->lookahead != '\r') {
    bool quote = lexer->lookahead == '"';
    advance(lexer);
    if (quote) {
      if (as_token) lexer->mark_end(lexer);
      closed = true;
      if (lexer->lookahead != '"') return true;
      advance(lexer);
    }
  }
  return closed;
}

// Reads spaces, line breaks and comments; false for a carriage return without a line feed.
static bool read_trivia(TSLexer *lexer) {
  while (!lexer->eof(lexer)) {
    int32_t c = lexer->lookahead;
    if (c == '#') {
      while (!lexer->eof(lexer) && lexer->lookahead != '\n' && lexer->lookahead != '\r') {
        advance(lexer);
      }
    } else if (c == ' ' || c == '\t' || c == '\n') {
      advance(lexer);
    } else if (c == '\r') {
      advance(lexer);
      if (lexer->lookahead != '\n') return false;
    } else {
      return true;
    }
  }
  return true;
}

static bool reads(TSLexer *lexer, int32_t c) {
  if (lexer->lookahead != c) return false;
  advance(lexer);
  return true;
}

// Whether `=`, or `[i, j] =`, stands behind a name.
static bool read_equation(TSLexer *lexer) {
  if (!read_trivia(lexer)) return false;
  if (reads(lexer, '[')) {
    for (;;) {
      if (!read_trivia(lexer)) return false;
      if (begins_name(lexer->lookahead)) {
        if (!is_name(read_word(lexer))) return false;
      } else if (!reads(lexer, ',')) {
        break;
      }
    }
    if (!reads(lexer, ']') || !read_trivia(lexer)) return false;
  }
  return lexer->lookahead == '=';
}

// What follows, behind line breaks and comments.
static Following read_following(TSLexer *lexer) {
  Following following = {0};
  if (!read_trivia(lexer)) {
    following.exists = true;
    return following;
  }
  if (lexer->eof(lexer)) return following;
  following.exists = true;
  int32_t c = lexer->lookahead;
  if (!begins_name(c)) {
    following.begins_formula = is_digit(c) || c == '(' || c == 0x2202;
    if (c == '-' || c == '.') {
      advance(lexer);
      following.begins_formula = c == '-' && lexer->lookahead != '>';
      following.is_dot = c == '.' && lexer->lookahead != '.';
    }
    return following;
  }
  const Word *word = read_word(lexer);
  if (word != NULL && (word->flags & IS_STATEMENT)) following.is_statement = true;
  if (!is_name(word)) return following;
  following.begins_formula = true;
  following.is_then_or_else =
      word != NULL && (word->token == TOKEN_THEN || word->token == TOKEN_ELSE);
  if (word != NULL && (word->flags & IS_LEADING)) {
    if (!read_trivia(lexer)) return following;
    if (word->token == TOKEN_NOTE) {
      following.is_statement = lexer->lookahead == '"' && read_string(lexer, false);
      if (following.is_statement) return following;
    } else if (begins_name(lexer->lookahead)) {
      following.is_statement = is_name(read_word(lexer));
      return following;
    }
  }
  following.is_equation = read_equation(lexer);
  return following;
}

static bool joins(uint8_t token) {
  switch (token) {
    case TOKEN_PLUS:
    case TOKEN_MINUS:
    case TOKEN_PLUSMINUS:
    case TOKEN_STAR:
    case TOKEN_SLASH:
    case TOKEN_CIRCUMFLEX:
    case TOKEN_COMMA:
    case TOKEN_EQUAL:
    case TOKEN_RELATION:
    case TOKEN_UNEQUAL:
    case TOKEN_ARROW:
    case TOKEN_FOR:
    case TOKEN_IN:
    case TOKEN_AS:
    case TOKEN_IS:
      return true;
    default:
      return false;
  }
}

static bool continues(const State *state, Following following) {
  if (!following.exists || following.is_statement) return false;
  bool listed = state->last == TOKEN_LPAR || state->last == TOKEN_COMMA;
  if (following.is_equation && !listed) return false;
  if (state->last == TOKEN_COLON && state->uses) return true;
  bool piecewise = state->has_if && (state->last_is_piecewise || following.is_then_or_else);
  return state->depth > 0 || joins(state->last) || piecewise;
}

static bool accept(State *state, TSLexer *lexer, uint8_t token) {
  state->before = state->last;
  state->last = token;
  if (state->first == NO_TOKEN) state->first = token;
  state->joined = false;
  state->last_is_piecewise = false;
  if (token == TOKEN_LPAR || token == TOKEN_LSQB || token == TOKEN_LBRACE) {
    if (state->depth < UINT16_MAX) state->depth++;
  } else if (token == TOKEN_RPAR || token == TOKEN_RSQB || token == TOKEN_RBRACE) {
    if (state->depth > 0) state->depth--;
  }
  lexer->result_symbol = token;
  return true;
}

// Whether `if`, `then` or `else` is a keyword here.
static bool is_piecewise(State *state, TSLexer *lexer, const Word *word) {
  bool is_if = word->token == TOKEN_IF;
  if (state->first == NO_TOKEN || state->last == TOKEN_DOT) return false;
  if (!is_if && !state->has_typed_if) return false;
  State with_word = *state;  // whether the next token is of this line depends on this word
  with_word.last = TOKEN_NAME;
  with_word.has_if |= is_if;
  with_word.last_is_piecewise = true;
  while (lexer->lookahead == ' ' || lexer->lookahead == '\t') advance(lexer);
  bool breaks = lexer->lookahead == '\n' || lexer->lookahead == '\r' || lexer->lookahead == '#';
  Following following = read_following(lexer);
  if (breaks && !continues(&with_word, following)) following = (Following){0};
  if (following.is_dot) return false;
  return !is_if || following.begins_formula;
}

static bool scan_word(State *state, TSLexer *lexer) {
  const Word *word = read_word(lexer);
  lexer->mark_end(lexer);
  uint8_t token = is_name(word) ? TOKEN_NAME : word->token;
  bool piecewise = word != NULL && (word->flags & IS_PIECEWISE);
  bool typed_if = false;
  if (state->first == NO_TOKEN) {
    state->home = word == NULL ? 0 : word->home;
    state->uses = word != NULL && word->token == TOKEN_USES;
  }
  if (piecewise) {
    if (is_piecewise(state, lexer, word)) token = word->token;
    typed_if = token == TOKEN_IF;
  } else if (word != NULL && (word->flags & IS_PLACED)) {
    // the name of a variable in ∂²at/∂x² is none
    bool of_derivative = state->last == TOKEN_ORDER && state->before == TOKEN_DEL;
    bool placed = (word->within & state->home) && (word->behind & place_behind(state->last));
    if (state->first != NO_TOKEN && placed && !of_derivative) token = word->token;
  } else if (word != NULL && (word->flags & IS_LEADING) && state->first == NO_TOKEN) {
    while (lexer->lookahead == ' ' || lexer->lookahead == '\t') advance(lexer);
    int32_t c = lexer->lookahead;
    if (c != '=' && c != '[' && c != '(') token = word->token;
  }
  accept(state, lexer, token);
  state->has_if |= word != NULL && word->token == TOKEN_IF;
  state->has_typed_if |= typed_if;
  state->last_is_piecewise = piecewise;
  return true;
}

static bool scan_number(State *state, TSLexer *lexer) {
  while (is_digit(lexer->lookahead)) advance(lexer);
  lexer->mark_end(lexer);
  if (lexer->lookahead == '.') {
    advance(lexer);
    if (!is_digit(lexer->lookahead)) return accept(state, lexer, TOKEN_NUMBER);
    while (is_digit(lexer->lookahead)) advance(lexer);
    lexer->mark_end(lexer);
  }
  if (lexer->lookahead == 'e' || lexer->lookahead == 'E') {
    advance(lexer);
    if (lexer->lookahead == '+' || lexer->lookahead == '-') advance(lexer);
    if (is_digit(lexer->lookahead)) {
      while (is_digit(lexer->lookahead)) advance(lexer);
      lexer->mark_end(lexer);
    }
  }
  return accept(state, lexer, TOKEN_NUMBER);
}

// A token of signs; ILLEGAL for a character that begins none.
static uint8_t read_signs(State *state, TSLexer *lexer) {
  int32_t c = lexer->lookahead;
  advance(lexer);
  lexer->mark_end(lexer);
  switch (c) {
    case '+':
      // in a prior, + and - together are ±
      if (state->first == TOKEN_PRIOR && reads(lexer, '-') && lexer->lookahead != '>') {
        lexer->mark_end(lexer);
        return TOKEN_PLUSMINUS;
      }
      return TOKEN_PLUS;
    case '-':
      if (!reads(lexer, '>')) return TOKEN_MINUS;
      lexer->mark_end(lexer);
      return TOKEN_ARROW;
    case '<':
    case '>':
      if (reads(lexer, '=')) lexer->mark_end(lexer);
      return TOKEN_RELATION;
    case 0x2264:
    case 0x2265:
      return TOKEN_RELATION;
    case '!':
      if (!reads(lexer, '=')) return TOKEN_ILLEGAL;
      lexer->mark_end(lexer);
      return TOKEN_UNEQUAL;
    case '.':
      if (!reads(lexer, '.')) return TOKEN_DOT;
      lexer->mark_end(lexer);
      if (!reads(lexer, '.')) return TOKEN_RANGE;
      lexer->mark_end(lexer);
      return TOKEN_ELLIPSIS;
    case 0xB1:
      return TOKEN_PLUSMINUS;
    case '*':
      return TOKEN_STAR;
    case '/':
      return TOKEN_SLASH;
    case '^':
      return TOKEN_CIRCUMFLEX;
    case '=':
      return TOKEN_EQUAL;
    case '(':
      return TOKEN_LPAR;
    case ')':
      return TOKEN_RPAR;
    case '[':
      return TOKEN_LSQB;
    case ']':
      return TOKEN_RSQB;
    case '{':
      return TOKEN_LBRACE;
    case '}':
      return TOKEN_RBRACE;
    case ',':
      return TOKEN_COMMA;
    case ':':
      return TOKEN_COLON;
    case 0x2202:
      return TOKEN_DEL;
    case 0xB2:
    case 0xB3:
      return TOKEN_ORDER;
    default:
      return c >= 0x2074 && c <= 0x2079 ? TOKEN_ORDER : TOKEN_ILLEGAL;
  }
}

// A line break behind a token: the end of the statement, or none. What is read beyond the break
// does not belong to either token.
static bool scan_break(State *state, TSLexer *lexer) {
  if (continues(state, read_following(lexer))) {
    state->joined = true;
    lexer->result_symbol = TOKEN_LINE_JOINT;
  } else {
    clear(state);
    lexer->result_symbol = TOKEN_LINE_END;
  }
  return true;
}

void *tree_sitter_law_external_scanner_create(void) {
  State *state = ts_malloc(sizeof(State));
  clear(state);
  return state;
}

void tree_sitter_law_external_scanner_destroy(void *payload) { ts_free(payload); }

unsigned tree_sitter_law_external_scanner_serialize(void *payload, char *buffer) {
  memcpy(buffer, payload, sizeof(State));
  return sizeof(State);
}

void tree_sitter_law_external_scanner_deserialize(void *payload, const char *buffer,
                                                  unsigned length) {
  if (length == sizeof(State)) {
    memcpy(payload, buffer, length);
  } else {
    clear(payload);
  }
}

bool tree_sitter_law_external_scanner_scan(void *payload, TSLexer *lexer,
                                           const bool *valid_symbols) {
  (void)valid_symbols;
  State *state = payload;
  for (;;) {
    if (lexer->eof(lexer)) {
      if (state->first == NO_TOKEN) return false;
      lexer->mark_end(lexer);
      clear(state);
      lexer->result_symbol = TOKEN_LINE_END;
      return true;
    }
    int32_t c = lexer->lookahead;
    if (c == ' ' || c == '\t') {
      lexer->advance(lexer, true);
    } else if (c == '\n' || c == '\r') {
      bool decided = state->first == NO_TOKEN || state->joined;
      lexer->advance(lexer, decided);
      if (c == '\r' && lexer->lookahead != '\n') {
        lexer->mark_end(lexer);
        return accept(state, lexer, TOKEN_ILLEGAL);
      }
      if (c == '\r') lexer->advance(lexer, decided);
      lexer->mark_end(lexer);
      if (!decided) return scan_break(state, lexer);
    } else if (c == '#') {
      while (!lexer->eof(lexer) && lexer->lookahead != '\n' && lexer->lookahead != '\r') {
        advance(lexer);
      }
      lexer->mark_end(lexer);
      lexer->result_symbol = TOKEN_COMMENT;
      return true;
    } else if (begins_name(c)) {
      return scan_word(state, lexer);
    } else if (is_digit(c)) {
      return scan_number(state, lexer);
    } else if (c == '"') {
      return accept(state, lexer, read_string(lexer, true) ? TOKEN_STRING : TOKEN_ILLEGAL);
    } else {
      return accept(state, lexer, read_signs(state, lexer));
    }
  }
}
