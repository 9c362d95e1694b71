"""Single-byte character sets: bytes with different meanings in MySQL and in Python's codec."""

TABLES: dict[str, tuple[str, dict[int, str]]] = {
    "latin1": ("cp1252", {0x81: "\u0081", 0x8D: "\u008d", 0x8F: "\u008f\u0090", 0x9D: "\u009d"}),
    "latin2": ("iso8859-2", {}),
    "latin5": ("iso8859-9", {}),
    "latin7": ("iso8859-13", {}),
    "greek": ("iso8859-7", {0xA1: "ʽʼ", 0xA4: "??", 0xAA: "?"}),
    "hebrew": ("iso8859-8", {0xAF: "‾"}),
    "tis620": ("tis-620", {0xA0: "\ufffd", 0xDB: "\ufffd\ufffd\ufffd\ufffd", 0xFC: "\ufffd\ufffd\ufffd\ufffd"}),
    "koi8r": ("koi8-r", {}),
    "koi8u": ("koi8-u", {0x95: "•"}),
    "cp1250": ("cp1250", {}),
    "cp1251": ("cp1251", {}),
    "cp1256": ("cp1256", {0x8A: "?", 0x8F: "?", 0x98: "?", 0x9A: "?", 0x9F: "?", 0xAA: "?", 0xC0: "?", 0xFF: "?"}),
    "cp1257": ("cp1257", {}),
    "cp850": ("cp850", {}),
    "cp852": ("cp852", {}),
    "cp866": ("cp866", {0xFC: "ⁿ²"}),
    "macroman": ("mac-roman", {}),
    "macce": ("mac_latin2", {}),
    "ascii": ("ascii", {}),
    "hp8": ("hp-roman8", {}),
    "dec8": (
        "latin-1",
        {
            0xA4: "?",
            0xA6: "?",
            0xA8: "¤",
            0xAC: "????",
            0xB4: "?",
            0xB8: "?",
            0xBE: "?",
            0xD0: "?",
            0xD7: "Œ",
            0xDD: "Ÿ?",
            0xF0: "?",
            0xF7: "œ",
            0xFD: "ÿ??",
        },
    ),
    "swe7": ("ascii", {0x40: "É", 0x5B: "ÄÖÅÜ", 0x60: "é", 0x7B: "äöåü?"}),
    "armscii8": (
        "ascii",
        {
            0x80: (
                "\u0080\u0081\u0082\u0083\u0084\u0085\u0086\u0087\u0088\u0089\u008a\u008b\u008c\u008d\u008e"
                "\u008f\u0090\u0091\u0092\u0093\u0094\u0095\u0096\u0097\u0098\u0099\u009a\u009b\u009c\u009d"
                "\u009e\u009f\u00a0❁§։)(»«—.՝,-՟…՜՛՞ԱաԲբԳգԴդԵեԶզԷէԸըԹթԺժԻիԼլԽխԾծԿկՀհՁձՂղՃճՄմՅյՆնՇշՈոՉչՊպՋջՌ"
                "ռՍսՎվՏտՐրՑցՒւՓփՔքՕօՖֆ’'"
            ),
        },
    ),
    "geostd8": (
        "ascii",
        {
            0x80: "€",
            0x82: "‚",
            0x84: "„…†‡",
            0x89: "‰",
            0x8B: "‹",
            0x91: "‘’“”•–—",
            0x9B: "›",
            0xA0: "\u00a0¡¢£¤¥¦§¨©ª«¬\u00ad®¯°±²³´µ¶·¸¹º»¼½¾¿აბგდევზჱთიკლმნჲოპჟრსტჳუფქღყშჩცძწჭხჴჯჰჵ",
            0xFD: "№",
        },
    ),
    "keybcs2": (
        "ascii",
        {
            0x80: (
                "ČüéďäĎŤčěĚĹÍľĺÄÁÉžŽôöÓůÚýÖÜŠĽÝŘťáíóúňŇŮÔšřŕŔ¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘"
                "┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0"
            ),
        },
    ),
}
"""Python codec of each character set, with strings that replace the codec's characters, starting at the given byte. As
on the server, a byte without a character becomes ``?``.
"""
