/// Saturating arithmetic for times and amounts from files, servers and users.
extension FixedWidthInteger where Self: SignedInteger {
    func saturatingAdd(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    func saturatingSubtract(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }

    func saturatingMultiply(_ other: Self) -> Self {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
    }

    /// The nearest integer towards zero that fits; 0 for NaN.
    init(saturating value: Double) {
        guard !value.isNaN else {
            self = 0
            return
        }
        self = Self(exactly: value.rounded(.towardZero)) ?? (value < 0 ? .min : .max)
    }
}

/// `a × b / by`, rounded half up without overflow; `by` is positive, the product not negative.
func multiplyDivide(_ a: Int, _ b: Int128, by: Int128) -> Int {
    let (whole, rest) = (Int128(a) * b).quotientAndRemainder(dividingBy: by)
    return Int(clamping: rest >= by - rest ? whole + 1 : whole)
}

func floorDivide(_ value: Int64, _ by: Int64) -> Int64 {
    let quotient = value / by
    return value % by < 0 ? quotient - 1 : quotient
}
