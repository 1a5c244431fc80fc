//! Tokens enter, the syntax tree leaves. Binding strength, loosest first:
//! `<=>`, `=>` (to the right), `or`, `and`, `not`, comparisons, `+ -`, `* /`, unary `-`, indexing.

use crate::ast::{By, Expr, ExprKind, Generator, Operator, Quantifier, Relation};
use crate::error::{Fault, RuleErrorKind, Span};
use crate::lex::{Token, TokenKind, lex};

const MAX_DEPTH: usize = 64;
/// `a + b + c` nests to the left: a long chain is as deep as many parentheses.
const MAX_LINKS: usize = 1000;
const OPERAND: &str = "a name, a number or '('";

/// Reads one rule.
pub fn parse(text: &str) -> Result<Expr, Fault> {
    let mut parser = Parser { tokens: lex(text)?, at: 0, depth: 0, links: 0 };
    let expr = parser.iff()?;
    match parser.peek() {
        TokenKind::End => Ok(expr),
        _ => Err(parser.unexpected("an operator such as 'and', '<=', '+' or the end of the rule")),
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    links: usize,
}

type Parsed = Result<Expr, Fault>;

impl Parser {
    fn peek(&self) -> &TokenKind {
        &self.tokens[self.at].kind
    }

    fn span(&self) -> Span {
        self.tokens[self.at].span.clone()
    }

    fn is(&self, word: &str) -> bool {
        matches!(self.peek(), TokenKind::Symbol(s) | TokenKind::Keyword(s) if *s == word)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.is(word);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, word: &'static str, expected: &'static str) -> Result<(), Fault> {
        if self.take(word) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn unexpected(&self, expected: &'static str) -> Fault {
        let found = self.peek();
        let before = self.at.checked_sub(1).map(|i| &self.tokens[i].kind);
        let hint = match (before, found) {
            (Some(TokenKind::Name(a)), TokenKind::Name(b)) => Some(format!("a name with spaces goes in backticks: `{a} {b}`")),
            (_, TokenKind::Name(word)) => match word.to_lowercase().as_str() {
                "implies" => Some("write `=>` for `implies`".into()),
                "iff" => Some("write `<=>` for `iff`".into()),
                lower @ ("and" | "or" | "not" | "in" | "then" | "else") => Some(format!("write `{lower}` in lower case")),
                _ => None,
            },
            (_, TokenKind::Symbol("..")) => Some("a range such as 0..4 stands after `in` in `for` and `forall` only".into()),
            _ => None,
        };
        (RuleErrorKind::Unexpected { expected, found: found.describe() }, self.span(), hint)
    }

    /// Runs a rule of the grammar one level deeper, so that hostile nesting ends in an error, not in a full stack.
    fn deeper(&mut self, rule: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        if self.depth == MAX_DEPTH {
            return Err((RuleErrorKind::TooDeep(MAX_DEPTH), self.span(), Some("split the rule into several".into())));
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    fn iff(&mut self) -> Parsed {
        self.left_associative(Self::implies, &[("<=>", Operator::Iff)])
    }

    fn implies(&mut self) -> Parsed {
        let left = self.or()?;
        if !self.take("=>") {
            return Ok(left);
        }
        let right = self.deeper(Self::implies)?;
        Ok(binary(Operator::Implies, left, right))
    }

    fn or(&mut self) -> Parsed {
        self.several(Self::and, "or", ExprKind::Any)
    }

    fn and(&mut self) -> Parsed {
        self.several(Self::not, "and", ExprKind::All)
    }

    /// Operands with the same word between them, side by side: thousands are as shallow as two.
    fn several(&mut self, operand: fn(&mut Self) -> Parsed, word: &str, kind: fn(Vec<Expr>) -> ExprKind) -> Parsed {
        let first = operand(self)?;
        if !self.is(word) {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.take(word) {
            parts.push(self.apart(operand)?);
        }
        let span = parts[0].span.start..parts[parts.len() - 1].span.end;
        Ok(Expr { kind: kind(parts), span })
    }

    /// An operand beside others: chains in it don't deepen the next.
    fn apart(&mut self, operand: fn(&mut Self) -> Parsed) -> Parsed {
        let links = self.links;
        let parsed = operand(self);
        self.links = links;
        parsed
    }

    fn not(&mut self) -> Parsed {
        let start = self.span().start;
        if self.take("not") {
            let inner = self.deeper(Self::not)?;
            let span = start..inner.span.end;
            return Ok(Expr { kind: ExprKind::Not(Box::new(inner)), span });
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Parsed {
        let first = self.sum()?;
        let negated = self.is("not") && matches!(self.tokens[self.at + 1].kind, TokenKind::Keyword("in"));
        self.at += usize::from(negated);
        if self.take("in") {
            return self.membership(first, negated);
        }
        let mut operands = vec![first];
        let mut relations = Vec::new();
        while let Some(relation) = self.relation() {
            self.at += 1;
            relations.push(relation);
            operands.push(self.sum()?);
        }
        if relations.is_empty() {
            return Ok(operands.remove(0));
        }
        let span = operands[0].span.start..operands[operands.len() - 1].span.end;
        Ok(Expr { kind: ExprKind::Chain(operands, relations), span })
    }

    fn relation(&self) -> Option<Relation> {
        let TokenKind::Symbol(symbol) = self.peek() else { return None };
        Some(match *symbol {
            "<" => Relation::Less,
            "<=" => Relation::LessEqual,
            "==" => Relation::Equal,
            "!=" => Relation::NotEqual,
            ">=" => Relation::GreaterEqual,
            ">" => Relation::Greater,
            _ => return None,
        })
    }

    fn membership(&mut self, item: Expr, negated: bool) -> Parsed {
        self.expect("{", "'{' and the members, such as {'rock', 'pop'}")?;
        let set = self.members()?;
        let span = item.span.start..self.tokens[self.at - 1].span.end;
        Ok(Expr { kind: ExprKind::In { item: Box::new(item), set, negated }, span })
    }

    fn sum(&mut self) -> Parsed {
        self.left_associative(Self::product, &[("+", Operator::Add), ("-", Operator::Subtract)])
    }

    fn product(&mut self) -> Parsed {
        self.left_associative(Self::unary, &[("*", Operator::Multiply), ("/", Operator::Divide)])
    }

    fn left_associative(&mut self, operand: fn(&mut Self) -> Parsed, operators: &[(&str, Operator)]) -> Parsed {
        let mut left = operand(self)?;
        while let Some((_, operator)) = operators.iter().find(|(word, _)| self.is(word)) {
            if self.links == MAX_LINKS {
                let hint = "write a long sum as sum(a, b, ...), and long conditions as several rules";
                return Err((RuleErrorKind::TooDeep(MAX_LINKS), self.span(), Some(hint.into())));
            }
            self.links += 1;
            self.at += 1;
            left = binary(*operator, left, operand(self)?);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        let start = self.span().start;
        if self.take("-") {
            let inner = self.deeper(Self::unary)?;
            let span = start..inner.span.end;
            return Ok(Expr { kind: ExprKind::Negate(Box::new(inner)), span });
        }
        self.deeper(Self::primary)
    }

    fn primary(&mut self) -> Parsed {
        let Token { kind, span } = self.tokens[self.at].clone();
        let leaf = |kind| Ok(Expr { kind, span: span.clone() });
        match kind {
            TokenKind::Number(value) => {
                self.at += 1;
                leaf(ExprKind::Number(value))
            }
            TokenKind::Text(text) => {
                self.at += 1;
                leaf(ExprKind::Text(text))
            }
            TokenKind::Keyword("true" | "false") => {
                self.at += 1;
                leaf(ExprKind::Truth(kind == TokenKind::Keyword("true")))
            }
            TokenKind::Name(name) => {
                self.at += 1;
                if self.take("[") {
                    let indices = self.indices()?;
                    let span = span.start..self.tokens[self.at - 1].span.end;
                    return Ok(Expr { kind: ExprKind::Index(name, indices), span });
                }
                if self.take("(") {
                    return self.call(name, span);
                }
                leaf(ExprKind::Name(name))
            }
            TokenKind::Symbol("(") => {
                self.at += 1;
                let mut inner = self.iff()?;
                let end = self.span().end;
                self.expect(")", "')'")?;
                inner.span = span.start..end;
                Ok(inner)
            }
            TokenKind::Keyword("if") => self.conditional(span.start),
            TokenKind::Keyword("forall") => self.quantified(Quantifier::ForAll, span.start),
            TokenKind::Keyword("exists") => self.quantified(Quantifier::Exists, span.start),
            _ => Err(self.unexpected(OPERAND)),
        }
    }

    fn conditional(&mut self, start: usize) -> Parsed {
        self.at += 1;
        let condition = self.iff()?;
        self.expect("then", "'then'")?;
        let yes = self.iff()?;
        self.expect("else", "'else'")?;
        let no = self.deeper(Self::iff)?;
        let span = start..no.span.end;
        Ok(Expr { kind: ExprKind::If(Box::new(condition), Box::new(yes), Box::new(no)), span })
    }

    fn quantified(&mut self, quantifier: Quantifier, start: usize) -> Parsed {
        self.at += 1;
        let mut generators = vec![self.generator()?];
        while self.take(",") {
            generators.push(self.generator()?);
        }
        self.expect(":", "':' before the body")?;
        let body = self.deeper(Self::iff)?;
        let span = start..body.span.end;
        Ok(Expr { kind: ExprKind::Quantified(quantifier, generators, Box::new(body)), span })
    }

    fn generator(&mut self) -> Result<Generator, Fault> {
        let TokenKind::Name(name) = self.peek().clone() else {
            return Err(self.unexpected("an index name, such as i"));
        };
        self.at += 1;
        self.expect("in", "'in' and a range, such as i in 0..4")?;
        let low = self.sum()?;
        self.expect("..", "a range, such as 0..4")?;
        let high = self.sum()?;
        Ok(Generator { name, low, high })
    }

    fn call(&mut self, name: String, name_span: Span) -> Parsed {
        let (mut args, mut generators, mut by) = (Vec::new(), Vec::new(), None);
        if !self.is(")") {
            loop {
                let named = matches!(&self.tokens[self.at + 1..], [Token { kind: TokenKind::Symbol("="), .. }, ..]);
                if named && by.is_none() {
                    self.at += 2;
                    let distance = self.apart(Self::sum)?;
                    by = Some(Box::new(By { distance, percent: self.take("%") }));
                } else {
                    args.push(self.argument()?);
                }
                if !self.take(",") {
                    break;
                }
            }
            while self.take("for") {
                generators.push(self.generator()?);
            }
        }
        let end = self.span().end;
        self.expect(")", "',', 'for' or ')'")?;
        let span = name_span.start..end;
        Ok(Expr { kind: ExprKind::Call { function: (name, name_span), args, generators, by }, span })
    }

    /// An argument: an expression, or a set of features.
    fn argument(&mut self) -> Parsed {
        let start = self.span().start;
        if !self.take("{") {
            return self.apart(Self::iff);
        }
        let set = self.members()?;
        Ok(Expr { kind: ExprKind::Set(set), span: start..self.tokens[self.at - 1].span.end })
    }

    /// The members of a set whose bracket is open.
    fn members(&mut self) -> Result<Vec<Expr>, Fault> {
        let mut set = vec![self.apart(Self::sum)?];
        while self.take(",") {
            set.push(self.apart(Self::sum)?);
        }
        self.expect("}", "',' or '}'")?;
        Ok(set)
    }

    fn indices(&mut self) -> Result<Vec<Expr>, Fault> {
        let mut items = vec![self.sum()?];
        while self.take(",") {
            items.push(self.sum()?);
        }
        self.expect("]", "',' or ']'")?;
        Ok(items)
    }
}

fn binary(operator: Operator, left: Expr, right: Expr) -> Expr {
    let span = left.span.start..right.span.end;
    Expr { kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)), span }
}
