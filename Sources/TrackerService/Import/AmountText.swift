/// A number as a spreadsheet writes it. `.` and `,` are the decimal sign or separate thousands: which, one number of a
/// file may show for all.
enum AmountText: Equatable {
    /// Digits only.
    case plain(Double)
    /// The number shows the decimal sign.
    case shows(decimalSign: UInt8, Double)
    /// `1.200` or `1,200`: one of the two.
    case either(sign: UInt8, decimal: Double, thousands: Double)

    /// `nil`: this is no number. No `0x10`, no `nan`, no `true`.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= 40 else { return nil }
        var text = String(decoding: bytes, as: UTF8.self)
        // Thousands may be separated by a blank or an apostrophe, which mean nothing else.
        let isGap: (Character) -> Bool = { " '\u{2019}\u{A0}\u{202F}".contains($0) }
        let hasGaps = text.contains(where: isGap)
        if hasGaps {
            let whole = text.prefix { $0 != "." && $0 != "," }
            guard Self.isGrouped(whole.split(omittingEmptySubsequences: false, whereSeparator: isGap)) else {
                return nil
            }
            text = whole.filter { !isGap($0) } + text[whole.endIndex...]
        }
        guard text.contains(where: \.isNumber), text.utf8.allSatisfy({ "0123456789+-.,eE".utf8.contains($0) }) else {
            return nil
        }
        guard let last = text.lastIndex(where: { $0 == "." || $0 == "," }) else {
            guard let value = Double(text) else { return nil }
            self = .plain(value)
            return
        }
        let (sign, other): (Character, Character) = text[last] == "." ? (".", ",") : (",", ".")
        let groups = text[..<last].split(separator: other, omittingEmptySubsequences: false)
        let ownGroups = text.split(separator: sign, omittingEmptySubsequences: false)
        let thousands = Double(text.replacing(String(sign), with: ""))
        if groups.count == 1, Self.isGrouped(ownGroups), let thousands, !hasGaps {
            let decimal = ownGroups.count == 2 ? Double(text.replacing(",", with: ".")) : nil
            self =
                decimal.map { .either(sign: sign.asciiValue ?? 0, decimal: $0, thousands: thousands) }
                ?? .shows(decimalSign: other.asciiValue ?? 0, thousands)
            return
        }
        guard ownGroups.count == 2, groups.count == 1 || Self.isGrouped(groups) && !hasGaps,
            let value = Double(text.replacing(String(other), with: "").replacing(",", with: "."))
        else { return nil }
        self = .shows(decimalSign: sign.asciiValue ?? 0, value)
    }

    /// The amount, as far as the decimal sign is known.
    func value(_ decimalSign: UInt8?) -> Double {
        switch self {
        case .plain(let value), .shows(_, let value): value
        case .either(let sign, let decimal, let thousands): sign == decimalSign ?? sign ? decimal : thousands
        }
    }

    /// `1.234.567`: groups of three digits behind one that does not begin with 0.
    private static func isGrouped(_ groups: [Substring]) -> Bool {
        guard groups.count > 1, let first = groups.first, (1...3).contains(first.count), first.first != "0" else {
            return false
        }
        return groups.dropFirst().allSatisfy { $0.count == 3 }
            && groups.allSatisfy { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    }
}
