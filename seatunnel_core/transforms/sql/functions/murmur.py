"""The 128-bit MurmurHash3 for 64-bit machines; ``MURMUR64`` returns its first half."""

from seatunnel_core.transforms.sql.call import Call, function
from seatunnel_core.transforms.sql.engine_function import by_row
from seatunnel_core.transforms.sql.value import BIGINT, BYTES, Value

_ALL = 2**64 - 1
_FIRST, _SECOND = 0x87C37B91114253D5, 0x4CF5AD432745937F


@function("MURMUR64")
def murmur64(call: Call) -> Value:
    """Compile MURMUR64: a hash of a string's UTF-8 bytes, for buckets and samples."""
    if call.args[0].type == BYTES:
        raise call.wrong(0, "a string")
    return call.make(by_row(lambda text: first_half(text.encode()), BIGINT), BIGINT, [call.text(0)], fails=False)


def first_half(data: bytes) -> int:
    """Return the first 64 bits of the hash with the seed 0, as a signed number."""
    one = two = 0
    whole = len(data) - len(data) % 16
    for at in range(0, whole, 16):
        one = ((_turned(one ^ _mixed_first(data[at : at + 8]), 27) + two) * 5 + 0x52DCE729) & _ALL
        two = ((_turned(two ^ _mixed_second(data[at + 8 : at + 16]), 31) + one) * 5 + 0x38495AB5) & _ALL
    one ^= _mixed_first(data[whole : whole + 8]) ^ len(data)
    two ^= _mixed_second(data[whole + 8 :]) ^ len(data)
    one = (one + two) & _ALL
    two = (two + one) & _ALL
    found = (_avalanche(one) + _avalanche(two)) & _ALL
    return found - 2**64 if found >= 2**63 else found


def _mixed_first(part: bytes) -> int:
    return _turned(int.from_bytes(part, "little") * _FIRST, 31) * _SECOND & _ALL


def _mixed_second(part: bytes) -> int:
    return _turned(int.from_bytes(part, "little") * _SECOND, 33) * _FIRST & _ALL


def _turned(number: int, bits: int) -> int:
    """Rotate the 64 bits of a number to the left."""
    number &= _ALL
    return ((number << bits) | (number >> (64 - bits))) & _ALL


def _avalanche(number: int) -> int:
    """Mix a number so that each input bit changes half of the output bits."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        number = (number ^ (number >> 33)) * factor & _ALL
    return number ^ (number >> 33)
