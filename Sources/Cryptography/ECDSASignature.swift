/// A signature's two numbers, r and s: as JSON Web Signatures write them (both at full length, RFC 7518), and as
/// OpenSSL does (DER, RFC 3279).
struct ECDSASignature: Hashable {
    /// No DER of P-256 is longer.
    static let longest = 72
    /// 64 bytes.
    let raw: [UInt8]

    init?(raw: [UInt8]) {
        guard raw.count == 64 else { return nil }
        self.raw = raw
    }

    /// `nil` for anything but a sequence of two whole numbers of at most 32 bytes.
    init?(der: [UInt8]) {
        guard der.count >= 2, der[0] == 0x30, der[1] < 0x80, der.count == 2 + Int(der[1]) else { return nil }
        var (rest, raw) = (der.dropFirst(2), [UInt8]())
        for _ in 0..<2 {
            guard rest.popFirst() == 0x02, let count = rest.popFirst(), count > 0, count <= rest.count else {
                return nil
            }
            let number = rest.prefix(Int(count)).drop { $0 == 0 }
            guard number.count <= 32 else { return nil }
            raw += [UInt8](repeating: 0, count: 32 - number.count) + number
            rest = rest.dropFirst(Int(count))
        }
        guard rest.isEmpty else { return nil }
        self.raw = raw
    }

    var der: [UInt8] {
        let numbers = [raw.prefix(32), raw.suffix(32)].flatMap { half -> [UInt8] in
            let short = Array(half.drop { $0 == 0 })
            // What begins with a 1 would be less than nothing.
            let number = short.first.map { $0 < 0x80 } == true ? short : [0] + short
            return [0x02, UInt8(number.count)] + number
        }
        return [0x30, UInt8(numbers.count)] + numbers
    }
}
