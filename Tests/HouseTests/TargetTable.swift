import Foundation

/// README's table of targets: what each is about, and what it may not know.
struct TargetTable {
    struct Row {
        /// Names in backticks; `waterh-*` stands for all that begin so.
        let targets: [String]
        /// The last cell, at its commas: `SQL`, `Bluetooth`.
        let mayNotKnow: [String]
    }

    let rows: [Row]

    /// - Parameter readme: the whole page, with a table headed `| target | subject | may not know |`.
    init(readme: String) {
        let table =
            readme.components(separatedBy: "| target | subject | may not know |\n|---|---|---|\n").dropFirst().first
            ?? ""
        rows = table.components(separatedBy: "\n").prefix { $0.hasPrefix("| ") }.map { line in
            let cells = line.dropFirst(2).dropLast(line.hasSuffix(" |") ? 2 : 0).components(separatedBy: " | ")
            let names = (cells.first ?? "").components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(
                \.element)
            return Row(targets: names, mayNotKnow: cells.count == 3 ? cells[2].components(separatedBy: ", ") : [])
        }
    }
}

/// What it means for the sources not to know something.
enum Ignorance {
    /// None of these modules is imported, nor reached through a target of ours; and no type of these names is used.
    case of(modules: Set<String>, types: Set<String> = [])
    /// No Swift target of this package is imported.
    case ofOurTargets
    /// There is no Swift in it.
    case ofSwift
    /// Nothing that imports or names show: why.
    case notShown(String)
}

extension House {
    /// What a target knows although README's table says that it may not; targets without a row, and rows without a
    /// target.
    ///
    /// - Parameters:
    ///   - meanings: what each cell says, in terms of imports and names.
    ///   - known: what is reached through another target and stays so, as `HTTPAPI reaches GRDB through Store`. The
    ///     list may only shrink.
    ///   - withoutRow: targets that need no row.
    func knowTooMuch(
        _ table: TargetTable, meanings: [String: Ignorance], known: Set<String> = [], withoutRow: Set<String> = []
    ) -> [String] {
        var broken = table.rows.isEmpty ? ["there is no table of targets"] : []
        var unused = known
        var told: Set<String> = []
        var meant: Set<String> = []
        for row in table.rows {
            if row.targets.isEmpty || row.mayNotKnow.isEmpty {
                broken.append(
                    """
                    a row of the table names no target, or nothing that it may not know: \(row.targets) \
                    \(row.mayNotKnow)
                    """
                )
            }
            for name in row.targets {
                let targets = manifest.targets.filter {
                    name.hasSuffix("*") ? $0.name.hasPrefix(name.dropLast()) : $0.name == name
                }
                if targets.isEmpty { broken.append("the table has a row for \(name), and there is no such target") }
                for target in targets {
                    if !told.insert(target.name).inserted { broken.append("\(target.name) has two rows") }
                    for subject in row.mayNotKnow {
                        guard let meaning = meanings[subject] else {
                            broken.append("\(name) may not know \"\(subject)\", and no rule says what that means")
                            continue
                        }
                        meant.insert(subject)
                        broken += tooMuch(target, subject, meaning) { arrow in
                            unused.remove(arrow)
                            return known.contains(arrow)
                        }
                    }
                }
            }
        }
        let ours = manifest.targets.filter { $0.folder.hasPrefix("Sources/") }.map(\.name)
        broken += Set(ours).subtracting(told).subtracting(withoutRow).sorted().map { "\($0) has no row in the table" }
        broken += Set(meanings.keys).subtracting(meant).sorted().map {
            "nothing is said not to know \"\($0)\" any more: take it from the list"
        }
        return broken + unused.sorted().map { "\($0) no longer: take it from the list" }
    }

    private func tooMuch(_ target: Manifest.Target, _ subject: String, _ meaning: Ignorance, isKnown: (String) -> Bool)
        -> [String]
    {
        let forbidden: Set<String>
        var types: Set<String> = []
        switch meaning {
        case .of(let modules, let names): (forbidden, types) = (modules, names)
        case .ofOurTargets: forbidden = Set(manifest.targets.map(\.name).filter { sources[$0]?.isEmpty == false })
        case .ofSwift:
            return sources[target.name]?.isEmpty ?? true
                ? [] : ["\(target.name) may not know \(subject), and has a Swift file"]
        case .notShown: return []
        }
        var broken: [String] = []
        for file in sources[target.name] ?? [] {
            broken += file.imports.intersection(forbidden).sorted().map {
                "\(target.name) may not know \(subject), and \(file.path) imports \($0)"
            }
            broken += file.used.intersection(types).sorted().map {
                "\(target.name) may not know \(subject), and \(file.path) uses \($0)"
            }
        }
        let direct = target.named.union(target.common)
        broken += direct.intersection(forbidden).sorted().map {
            "\(target.name) may not know \(subject), and the manifest gives it \($0)"
        }
        let through = direct.sorted().flatMap { other in
            reach(of: other).intersection(forbidden).subtracting(direct).sorted().map {
                "reaches \($0) through \(other)"
            }
        }
        return broken
            + through.filter { !isKnown("\(target.name) \($0)") }.map {
                "\(target.name) may not know \(subject), and \($0)"
            }
    }

    /// Everything that the manifest gives a target, over any number of arrows.
    private func reach(of name: String) -> Set<String> {
        var (found, waiting) = (Set<String>(), [name])
        while let next = waiting.popLast() {
            guard let target = manifest.targets.first(where: { $0.name == next }) else { continue }
            for other in target.named.union(target.common) where found.insert(other).inserted { waiting.append(other) }
        }
        return found
    }
}
