/// Bytes that nobody can guess: the kernel's, by Swift's own generator.
enum RandomBytes {
    static func of(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in .random(in: .min ... .max, using: &generator) }
    }
}
