"""The commands that formulas may use, as data."""

from __future__ import annotations

from tui.typeset.math.nodes import Kind, Symbol

_LETTERS = """
alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ varkappa ϰ lambda
λ mu μ nu ν xi ξ omicron ο pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ
omega ω digamma ϝ Alpha Α Beta Β Gamma Γ Delta Δ Epsilon Ε Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ
Omicron Ο Pi Π Rho Ρ Sigma Σ Tau Τ Upsilon Υ Phi Φ Chi Χ Psi Ψ Omega Ω varGamma Γ varDelta Δ varTheta Θ varLambda Λ
varXi Ξ varPi Π varSigma Σ varUpsilon Υ varPhi Φ varPsi Ψ varOmega Ω aleph ℵ beth ℶ gimel ℷ daleth ℸ hbar ℏ hslash ℏ
ell ℓ wp ℘ Re ℜ Im ℑ imath ı jmath ȷ eth ð Finv Ⅎ Game ⅁ mho ℧ partial ∂ nabla ∇ infty ∞ emptyset ∅ varnothing ∅
forall ∀ exists ∃ nexists ∄ complement ∁ top ⊤ bot ⊥ angle ∠ measuredangle ∡ sphericalangle ∢ triangle △ square □ Box
□ blacksquare ■ Diamond ◇ lozenge ◊ blacklozenge ⧫ bigstar ★ diamondsuit ♢ heartsuit ♡ clubsuit ♣ spadesuit ♠ flat ♭
natural ♮ sharp ♯ prime ′ backprime ‵ degree ° checkmark ✓ maltese ✠ dag † ddag ‡ S § P ¶ copyright © pounds £ yen ¥
euro € neg ¬ lnot ¬ surd √ backslash \\ vert | Vert ‖ infin ∞ ldots … dots … dotso … dotsc … mathellipsis …
textellipsis … vdots ⋮ ddots ⋱ iddots ⋰ adots ⋰ hearts ♡ cdotp · ldotp . celsius ℃ ohm Ω micro µ permille ‰ QED ∎ qed
∎ Bbbk 𝕜 blacktriangle ▲ blacktriangledown ▼ circledS Ⓢ triangledown ▽ diagup ╱ diagdown ╲ # # % % $ $ & & _ _ aa å AA
Å ae æ AE Æ o ø O Ø ss ß i ı R ℝ N ℕ Z ℤ Q ℚ C ℂ reals ℝ Reals ℝ naturals ℕ integers ℤ rationals ℚ complexes ℂ
"""
_CENTRED_DOTS = "hdots … cdots ⋯ dotsb ⋯ dotsm ⋯ dotsi ⋯"
_BINARY = """
pm ± mp ∓ times × div ÷ cdot · ast ∗ star ⋆ circ ∘ bullet • cap ∩ cup ∪ uplus ⊎ sqcap ⊓ sqcup ⊔ vee ∨ lor ∨ wedge ∧
land ∧ setminus ∖ smallsetminus ∖ wr ≀ diamond ⋄ bigtriangleup △ bigtriangledown ▽ triangleleft ◁ triangleright ▷
oplus ⊕ ominus ⊖ otimes ⊗ oslash ⊘ odot ⊙ bigcirc ◯ dagger † ddagger ‡ amalg ⨿ ltimes ⋉ rtimes ⋊ Cap ⋒ Cup ⋓
boxplus ⊞ boxminus ⊟ boxtimes ⊠ boxdot ⊡ circledast ⊛ circledcirc ⊚ circleddash ⊝ dotplus ∔ intercal ⊺ divideontimes ⋇
barwedge ⊼ veebar ⊻ doublebarwedge ⩞ curlyvee ⋎ curlywedge ⋏ leftthreetimes ⋋ rightthreetimes ⋌ centerdot ·
unlhd ⊴ unrhd ⊵ lhd ⊲ rhd ⊳ And &
"""
_RELATIONS = """
lt < gt > leq ≤ le ≤ leqslant ⩽ geq ≥ ge ≥ geqslant ⩾ neq ≠ ne ≠ ll ≪ gg ≫ lll ⋘ ggg ⋙ equiv ≡ sim ∼ simeq ≃ approx ≈
cong ≅ ncong ≇ asymp ≍ doteq ≐ doteqdot ≑ propto ∝ varpropto ∝ in ∈ ni ∋ owns ∋ notin ∉ notni ∌ subset ⊂ supset ⊃
subseteq ⊆ supseteq ⊇ subsetneq ⊊ supsetneq ⊋ nsubseteq ⊈ nsupseteq ⊉ sqsubset ⊏ sqsupset ⊐ sqsubseteq ⊑ sqsupseteq ⊒
Subset ⋐ Supset ⋑ subseteqq ⫅ supseteqq ⫆ prec ≺ succ ≻ preceq ⪯ succeq ⪰ preccurlyeq ≼ succcurlyeq ≽ precsim ≾
succsim ≿ nprec ⊀ nsucc ⊁ lesssim ≲ gtrsim ≳ lessapprox ⪅ gtrapprox ⪆ lessgtr ≶ gtrless ≷ leqq ≦ geqq ≧ lneq ⪇ gneq ⪈
lneqq ≨ gneqq ≩ nless ≮ ngtr ≯ nleq ≰ ngeq ≱ nsim ≁ approxeq ≊ thickapprox ≈ thicksim ∼ backsim ∽ eqsim ≂ triangleq ≜
circeq ≗ bumpeq ≏ Bumpeq ≎ coloneqq ≔ coloneq ≔ eqqcolon ≕ Coloneqq ⩴ perp ⊥ parallel ∥ nparallel ∦ mid | nmid ∤
shortmid | shortparallel ∥ vdash ⊢ dashv ⊣ vDash ⊨ models ⊨ Vdash ⊩ Vvdash ⊪ nvdash ⊬ nvDash ⊭ nVdash ⊮ smile ⌣ frown
⌢ bowtie ⋈ Join ⋈ pitchfork ⋔ between ≬ therefore ∴ because ∵ vartriangle △ trianglelefteq ⊴ trianglerighteq ⊵
vartriangleleft ⊲ vartriangleright ⊳ ntriangleleft ⋪ ntriangleright ⋫ ntrianglelefteq ⋬ ntrianglerighteq ⋭
blacktriangleleft ◀ blacktriangleright ▶ risingdotseq ≓ fallingdotseq ≒ eqcirc ≖ lessdot ⋖ gtrdot ⋗ to → rightarrow →
gets ← leftarrow ← Rightarrow ⇒ Leftarrow ⇐ leftrightarrow ↔ Leftrightarrow ⇔ longrightarrow ⟶ longleftarrow ⟵
Longrightarrow ⟹ Longleftarrow ⟸ longleftrightarrow ⟷ Longleftrightarrow ⟺ implies ⟹ impliedby ⟸ iff ⟺ mapsto ↦
longmapsto ⟼ hookrightarrow ↪ hookleftarrow ↩ rightharpoonup ⇀ rightharpoondown ⇁ leftharpoonup ↼ leftharpoondown ↽
rightleftharpoons ⇌ leftrightharpoons ⇋ uparrow ↑ downarrow ↓ updownarrow ↕ Uparrow ⇑ Downarrow ⇓ Updownarrow ⇕
nearrow ↗ searrow ↘ swarrow ↙ nwarrow ↖ leadsto ⇝ rightsquigarrow ⇝ leftrightsquigarrow ↭ twoheadrightarrow ↠
twoheadleftarrow ↞ rightarrowtail ↣ leftarrowtail ↢ rightrightarrows ⇉ leftleftarrows ⇇ rightleftarrows ⇄
leftrightarrows ⇆ upuparrows ⇈ downdownarrows ⇊ curvearrowright ↷ curvearrowleft ↶ circlearrowright ↻ circlearrowleft
↺ looparrowright ↬ looparrowleft ↫ dashrightarrow ⇢ dashleftarrow ⇠ multimap ⊸ nrightarrow ↛ nleftarrow ↚ nRightarrow
⇏ nLeftarrow ⇍ nleftrightarrow ↮ nLeftrightarrow ⇎ Lsh ↰ Rsh ↱ upharpoonright ↾ upharpoonleft ↿ downharpoonright ⇂
downharpoonleft ⇃ restriction ↾ vcentcolon : ratio ∶
"""
_OPENING = """
{ { lbrace { lbrack [ lparen ( langle ⟨ lfloor ⌊ lceil ⌈ lvert | lVert ‖ llbracket ⟦ ulcorner ⌜ llcorner ⌞ lgroup (
"""
_CLOSING = """
} } rbrace } rbrack ] rparen ) rangle ⟩ rfloor ⌋ rceil ⌉ rvert | rVert ‖ rrbracket ⟧ urcorner ⌝ lrcorner ⌟ rgroup )
"""
_LARGE = """
sum ∑ prod ∏ coprod ∐ bigcup ⋃ bigcap ⋂ bigsqcup ⨆ bigvee ⋁ bigwedge ⋀ bigoplus ⨁ bigotimes ⨂ bigodot ⨀ biguplus ⨄
"""
_INTEGRALS = "int ∫ iint ∬ iiint ∭ iiiint ⨌ oint ∮ oiint ∯ oiiint ∰ intop ∫ smallint ∫"
_FUNCTIONS = """
sin cos tan cot sec csc sinh cosh tanh coth sech csch arcsin arccos arctan arccot arcsec arccsc arcsinh arccosh arctanh
arsinh arcosh artanh sgn sign log ln lg lb exp arg deg dim hom ker rank tr Tr trace diag span supp Var Cov Corr erf erfc
ord im rad adj Aut End Hom Gal Spec grad curl vol diam dist conv proj softmax sigmoid ReLU Li Si Ci Res
"""
_WITH_LIMITS = """
lim max min sup inf limsup liminf det gcd lcm Pr argmax argmin injlim projlim varlimsup varliminf colim esssup essinf
plim
"""

SPELLED = {"limsup": "lim sup", "liminf": "lim inf", "argmax": "arg max", "argmin": "arg min", "injlim": "inj lim"}
SPELLED |= {"varlimsup": "lim sup", "varliminf": "lim inf"}
SPELLED |= {
    "projlim": "proj lim",
    "varlimsup": "lim sup",
    "varliminf": "lim inf",
    "esssup": "ess sup",
    "essinf": "ess inf",
}


def _pairs(text: str) -> list[tuple[str, str]]:
    words = text.split()
    return list(zip(words[::2], words[1::2], strict=True))


def _symbols() -> dict[str, Symbol]:
    kinds: list[tuple[str, Kind]] = [
        (_LETTERS, "ord"),
        (_CENTRED_DOTS, "inner"),
        (_BINARY, "bin"),
        (_RELATIONS, "rel"),
        (_OPENING, "open"),
        (_CLOSING, "close"),
        (_INTEGRALS, "op"),
    ]
    found = {name: Symbol(text, kind) for table, kind in kinds for name, text in _pairs(table)}
    found |= {name: Symbol(text, "op", limits=True) for name, text in _pairs(_LARGE)}
    found |= {name: Symbol(SPELLED.get(name, name), "fn") for name in _FUNCTIONS.split()}
    found |= {name: Symbol(SPELLED.get(name, name), "fn", limits=True) for name in _WITH_LIMITS.split()}
    found["colon"] = Symbol(":", "punct")
    found["|"] = Symbol("‖")
    return found


SYMBOLS = _symbols()
"""Commands for one symbol or function name."""

CHARACTERS: dict[str, Symbol] = {
    **{symbol.text: symbol for symbol in SYMBOLS.values() if len(symbol.text) == 1 and not symbol.text.isascii()},
    "+": Symbol("+", "bin"),
    "-": Symbol("−", "bin"),
    "−": Symbol("−", "bin"),
    "*": Symbol("∗", "bin"),
    "=": Symbol("=", "rel"),
    "<": Symbol("<", "rel"),
    ">": Symbol(">", "rel"),
    ":": Symbol(":", "rel"),
    "(": Symbol("(", "open"),
    "[": Symbol("[", "open"),
    ")": Symbol(")", "close"),
    "]": Symbol("]", "close"),
    "!": Symbol("!", "close"),
    "?": Symbol("?", "close"),
    ",": Symbol(",", "punct"),
    ";": Symbol(";", "punct"),
    "`": Symbol("‘"),
}
"""Characters that are not simply letters."""

SPACES = {",": 1, ":": 1, ">": 1, ";": 1, " ": 1, "\n": 1, "thinspace": 1, "medspace": 1, "thickspace": 1}
SPACES |= {"enspace": 1, "enskip": 1, "quad": 2, "qquad": 4, "space": 1, "nobreakspace": 1, "hfill": 2, "hfil": 2}
_WITHOUT_EFFECT = """
! displaystyle textstyle scriptstyle scriptscriptstyle limits nolimits nonumber notag relax mathstrut strut
negthinspace negmedspace negthickspace allowbreak nobreak noindent centering protect tiny scriptsize footnotesize
small normalsize large Large LARGE huge Huge displaylimits / hfilneg break newpage bigskip medskip smallskip
"""
IGNORED = frozenset(_WITHOUT_EFFECT.split())
IGNORED_WITH_ARGUMENT = frozenset(
    ("label", "require", "vspace", "hspace", "kern", "mkern", "mskip", "color", "cline", "vphantom")
)

ACCENTS = {
    "hat": ("\u0302", "^"),
    "widehat": ("\u0302", "^"),
    "tilde": ("\u0303", "~"),
    "widetilde": ("\u0303", "~"),
    "bar": ("\u0304", "_"),
    "overline": ("\u0305", "_"),
    "vec": ("\u20d7", "→"),
    "overrightarrow": ("\u20d7", "→"),
    "overleftarrow": ("\u20d6", "←"),
    "overleftrightarrow": ("\u20e1", "↔"),
    "dot": ("\u0307", "."),
    "ddot": ("\u0308", "¨"),
    "dddot": ("\u20db", "…"),
    "check": ("\u030c", "ˇ"),
    "widecheck": ("\u030c", "ˇ"),
    "breve": ("\u0306", "˘"),
    "acute": ("\u0301", "´"),
    "grave": ("\u0300", "`"),
    "mathring": ("\u030a", "˚"),
    "underline": ("\u0332", "‾"),
    "underbar": ("\u0332", "‾"),
}
"""The combining character, and the mark of a row of its own."""

ARROWS = {
    "xrightarrow": ("", "─", "→"),
    "xleftarrow": ("←", "─", ""),
    "xleftrightarrow": ("←", "─", "→"),
    "xRightarrow": ("", "═", "⇒"),
    "xLeftarrow": ("⇐", "═", ""),
    "xLeftrightarrow": ("⇐", "═", "⇒"),
    "xmapsto": ("├", "─", "→"),
    "xhookrightarrow": ("╰", "─", "→"),
    "xhookleftarrow": ("←", "─", "╯"),
    "xrightharpoonup": ("", "─", "⇀"),
    "xrightleftharpoons": ("", "⇌", ""),
    "xlongequal": ("", "═", ""),
}

FONTS = {
    **dict.fromkeys(("mathbb", "mathds", "Bbb", "mathbbm"), "double"),
    **dict.fromkeys(("mathcal", "mathscr", "cal", "scr"), "script"),
    **dict.fromkeys(("mathfrak", "frak"), "fraktur"),
    **dict.fromkeys(("mathbf", "boldsymbol", "bm", "bf", "bold", "mathbfit", "pmb", "symbf", "mathbfsf"), "bold"),
    **dict.fromkeys(("mathrm", "mathit", "mathsf", "mathtt", "mathnormal", "rm", "it", "sf", "tt", "symup"), "plain"),
}
SWITCHES = frozenset(("cal", "scr", "frak", "bf", "rm", "it", "sf", "tt", "Bbb", "bold"))
"""Fonts that hold until the end of a group when no brace follows."""
_FIRST = {"double": 0x1D538, "script": 0x1D49C, "fraktur": 0x1D504, "bold": 0x1D400}
_RANGES = (("A", "Z", 0), ("a", "z", 26))
_BOLD_RANGES = (("α", "ω", 0x1D6C2), ("Α", "Ω", 0x1D6A8))
_FIRST_DIGIT = {"double": 0x1D7D8, "bold": 0x1D7CE}
_HOLES = {
    "double": dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True)),
    "script": dict(zip("BEFHILMRego", "ℬℰℱℋℐℒℳℛℯℊℴ", strict=True)),
    "fraktur": dict(zip("CHIRZ", "ℭℌℑℜℨ", strict=True)),
    "bold": {"∇": "𝛁", "∂": "𝛛", "ϵ": "𝛜", "ϑ": "𝛝", "ϕ": "𝛟", "ϱ": "𝛠", "ϖ": "𝛡"},
}


def in_font(font: str, text: str) -> str:
    """The text with the letters of a font, where the font has them."""
    return "".join(_letter(font, character) for character in text) if font in _FIRST else text


def _letter(font: str, character: str) -> str:
    if character in _HOLES[font]:
        return _HOLES[font][character]
    for first, last, start in (*_RANGES, *(_BOLD_RANGES if font == "bold" else ())):
        if first <= character <= last:
            return chr((_FIRST[font] if start < 0x100 else 0) + start + ord(character) - ord(first))
    if "0" <= character <= "9" and font in _FIRST_DIGIT:
        return chr(_FIRST_DIGIT[font] + ord(character) - ord("0"))
    return character


RAISED = dict(
    zip(
        "0123456789+−=()nabcdefghijklmoprstuvwxyzABDEGHIJKLMNOPRTUVWαβγδεθιϕφχ′″‴∗†‡°⊤∘∨⊺",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵅᵝᵞᵟᵋᶿᶥᶲᵠᵡ′″‴*†‡°ᵀ°ᵛᵀ",
        strict=True,
    )
)
LOWERED = dict(zip("0123456789+−=()aehijklmnoprstuvxβγρφχ,", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ,", strict=True))
VULGAR = {"1/2": "½", "1/3": "⅓", "2/3": "⅔", "1/4": "¼", "3/4": "¾", "1/5": "⅕", "1/6": "⅙", "1/8": "⅛", "3/8": "⅜"}
"""Fractions with a character of their own, for formulas in a line."""

DELIMITERS = {
    **{f"\\{name}": symbol.text for name, symbol in SYMBOLS.items() if symbol.kind in ("open", "close")},
    **{mark: mark for mark in "()[]|/"},
    **{f"\\{name}": SYMBOLS[name].text for name in ("uparrow", "downarrow", "updownarrow", "Uparrow", "Downarrow")},
    ".": "",
    "<": "⟨",
    ">": "⟩",
    "{": "{",
    "}": "}",
    "\\|": "‖",
    "\\vert": "|",
    "\\Vert": "‖",
    "\\backslash": "\\",
    "⟨": "⟨",
    "⟩": "⟩",
    "‖": "‖",
    "⌊": "⌊",
    "⌋": "⌋",
    "⌈": "⌈",
    "⌉": "⌉",
}
SIZES = {f"{size}{side}": side for size in ("big", "Big", "bigg", "Bigg") for side in ("", "l", "m", "r")}
"""Commands that enlarge a delimiter, with the side that it closes."""

MATRICES = {
    "matrix": ("", ""),
    "pmatrix": ("(", ")"),
    "bmatrix": ("[", "]"),
    "Bmatrix": ("{", "}"),
    "vmatrix": ("|", "|"),
    "Vmatrix": ("‖", "‖"),
    "smallmatrix": ("", ""),
    "psmallmatrix": ("(", ")"),
    "bsmallmatrix": ("[", "]"),
    "cases": ("{", ""),
    "dcases": ("{", ""),
    "rcases": ("", "}"),
    "drcases": ("", "}"),
    "array": ("", ""),
    "tabular": ("", ""),
    "subarray": ("", ""),
}
LINES = {
    **dict.fromkeys(("align", "aligned", "split", "eqalign", "alignat", "alignedat", "flalign", "xalignat"), "rl"),
    **dict.fromkeys(("gather", "gathered", "equation", "displaymath", "math"), "c"),
    **dict.fromkeys(("multline", "multlined"), "l"),
    "eqnarray": "rcl",
    "IEEEeqnarray": "rcl",
}
"""Environments whose rows are lines of a display, with the alignment of their columns."""
