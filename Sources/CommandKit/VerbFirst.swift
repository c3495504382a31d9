/// Options that every verb takes may stand before the verb too: `--store F log 250` means `log 250 --store F`.
public enum VerbFirst {
    /// - Parameters:
    ///   - options: with a value.
    ///   - flags: without one.
    public static func ordered(_ arguments: [String], options: [String], flags: [String]) -> [String] {
        var rest = arguments[...]
        var shared: [String] = []
        while let first = rest.first {
            if flags.contains(first) || options.contains(where: { first.hasPrefix($0 + "=") }) {
                shared.append(first)
                rest = rest.dropFirst()
            } else if options.contains(first), rest.count > 1 {
                shared += rest.prefix(2)
                rest = rest.dropFirst(2)
            } else {
                break
            }
        }
        // Without a verb they belong to the default one as they stand.
        guard let verb = rest.first, !verb.hasPrefix("-") else { return arguments }
        let end = rest.firstIndex(of: "--") ?? rest.endIndex
        return rest[..<end] + shared + rest[end...]
    }
}
