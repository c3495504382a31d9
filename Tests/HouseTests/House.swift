import Foundation

/// The rules of the house, checked over a tree of sources: each check returns a sentence for what breaks it.
struct House {
    let manifest: Manifest
    /// By target.
    let sources: [String: [SwiftSource]]

    /// - Parameter root: a folder with Package.swift and what it names.
    init(root: URL) throws {
        manifest = Manifest(text: try String(contentsOf: root.appending(path: "Package.swift"), encoding: .utf8))
        var sources: [String: [SwiftSource]] = [:]
        for target in manifest.targets {
            sources[target.name] = try Repository.files(in: [target.folder], root: root).filter {
                $0.path.hasSuffix(".swift")
            }
            .map { SwiftSource(path: String($0.path.dropFirst(target.folder.count + 1)), text: $0.text) }
        }
        self.sources = sources
    }

    /// What the compiler or the system brings along.
    static let system: Set<String> = [
        "Foundation", "FoundationEssentials", "Glibc", "Dispatch", "Synchronization", "Testing",
    ]

    /// Each import is an arrow of the manifest, and each arrow is imported somewhere.
    func brokenArrows() -> [String] {
        manifest.targets.flatMap { target -> [String] in
            let files = sources[target.name] ?? []
            let imported = files.reduce(into: Set<String>()) { $0.formUnion($1.imports) }
            let undeclared = files.flatMap { file in
                file.imports.subtracting(Self.system).subtracting(target.named).subtracting(target.common).sorted()
                    .map { "\(target.name)/\(file.path) imports \($0), which the manifest does not name" }
            }
            return undeclared
                + target.named.subtracting(imported).sorted().map {
                    "\(target.name) names \($0) in the manifest and imports it nowhere"
                }
        }
    }

    /// - Parameters:
    ///   - module: for example Foundation.
    ///   - allowed: files that may, as `TrackerCore/Time/Zone.swift`.
    func imports(of module: String, in targets: [String], allowed: Set<String> = []) -> [String] {
        var unused = allowed
        var broken: [String] = []
        for target in targets {
            if sources[target]?.isEmpty ?? true { broken.append("there is no target \(target)") }
            for file in sources[target] ?? [] where file.imports.contains(where: { $0.hasPrefix(module) }) {
                if unused.remove("\(target)/\(file.path)") == nil {
                    broken.append("\(target)/\(file.path) imports \(module)")
                }
            }
        }
        return broken + unused.sorted().map { "\($0) no longer imports \(module): take it from the list" }
    }

    /// Time, chance and waiting are parameters, but for the files that say otherwise.
    ///
    /// - Parameter allowed: as `Gateway/Driver/DriverClock.swift: ContinuousClock`. The list may only shrink.
    func impure(in targets: [String], allowed: Set<String> = []) -> [String] {
        var unused = allowed
        var broken: [String] = []
        for target in targets {
            for file in sources[target] ?? [] {
                for word in file.impure.union(file.imports.intersection(Self.machine)).sorted() {
                    let use = "\(target)/\(file.path): \(word)"
                    if unused.remove(use) == nil {
                        broken.append("\(target)/\(file.path) uses \(word), and takes it from nobody")
                    }
                }
            }
        }
        return broken + unused.sorted().map { "\($0) no longer: take it from the list" }
    }

    /// Waiting longer each time is one type's business.
    ///
    /// - Parameter known: files that cannot reach it, as `BlueZ/Peripheral/BlueZPeripheralLink.swift`. The list may
    ///   only shrink.
    func doubledPauses(known: Set<String> = []) -> [String] {
        var unused = known
        var broken: [String] = []
        for target in manifest.targets where target.folder.hasPrefix("Sources/") {
            for file in sources[target.name] ?? [] where file.doublesByHand {
                let place = "\(target.name)/\(file.path)"
                if unused.remove(place) == nil {
                    broken.append("\(place) doubles a pause by hand: see Pauses/Backoff.swift")
                }
            }
        }
        return broken + unused.sorted().map { "\($0) no longer: take it from the list" }
    }

    /// Modules of the system through which clocks, sockets and threads are reached.
    static let machine: Set<String> = ["Glibc", "Dispatch"]

    /// A folder uses types of its own floor's folder and of the floors below, never of those above or beside.
    ///
    /// - Parameters:
    ///   - floors: for each target with folders, from the ground up; an empty name stands for the target's own folder.
    ///   - known: arrows that are still to be turned, as `Store: Opening -> Schema`.
    func brokenFloors(_ floors: [String: [[String]]], known: Set<String> = []) -> [String] {
        var broken: [String] = []
        var unused = known
        for (target, files) in sources.sorted(by: { $0.key < $1.key })
        where manifest.targets.contains(where: { $0.name == target && $0.folder.hasPrefix("Sources/") }) {
            let folders = Set(files.map(Self.folder))
            guard folders.count > 1 else { continue }
            guard let order = floors[target] else {
                broken.append("\(target) has folders, and no floors are listed for it")
                continue
            }
            let level = Dictionary(
                order.enumerated().flatMap { index, names in names.map { ($0, index) } },
                uniquingKeysWith: { first, _ in first })
            broken += folders.subtracting(level.keys).sorted().map { "\(target)/\($0) is on no floor" }
            broken += Set(level.keys).subtracting(folders).sorted().map {
                "\(target) has no folder \($0): take it from the list"
            }
            var home: [String: String] = [:]
            for file in files { for name in file.declared { home[name] = Self.folder(file) } }
            var functions: [String: String] = [:]
            for file in files { for name in file.functions { functions[name] = Self.folder(file) } }
            // What an extension in another folder adds to a type belongs there.
            for file in files {
                for (name, host) in file.inner
                where name != "CodingKeys" && home[name] == nil && home[host] != nil && home[host] != Self.folder(file)
                { home[name] = Self.folder(file) }
            }
            for file in files {
                let own = Self.folder(file)
                for name in file.used.subtracting(file.declared).subtracting(file.inner.keys).sorted() {
                    guard let other = home[name], other != own, let mine = level[own], let its = level[other],
                        its >= mine
                    else { continue }
                    let arrow = "\(target): \(own) -> \(other)"
                    unused.remove(arrow)
                    if !known.contains(arrow) { broken.append("\(arrow): \(file.path) uses \(name)") }
                }
                for name in file.called.subtracting(file.functions).sorted() {
                    guard let other = functions[name], other != own, let mine = level[own], let its = level[other],
                        its >= mine
                    else { continue }
                    broken.append("\(target): \(own) -> \(other): \(file.path) calls \(name)")
                }
            }
        }
        return broken + unused.sorted().map { "\($0) is no longer there: take it from the list" }
    }

    /// A file is called like a type that it declares, or `Type+Subject` like one that it extends.
    ///
    /// - Parameter exceptions: files named by their subject, as `Captures/Formats/Encoding.swift`. The list may only
    ///   shrink.
    func misnamed(except exceptions: Set<String>) -> [String] {
        var unused = exceptions
        var broken: [String] = []
        for target in manifest.targets {
            for file in sources[target.name] ?? [] {
                let parts = file.stem.split(separator: "+", maxSplits: 1).map(String.init)
                let isRight =
                    parts.count == 1
                    ? file.declared.subtracting(file.aliases).contains(parts[0])
                    : file.extended.union(file.declared).contains(parts[0])
                let place = "\(target.name)/\(file.path)"
                if isRight { continue }
                if unused.remove(place) == nil { broken.append("\(place) declares no \(parts[0])") }
            }
        }
        return broken + unused.sorted().map { "\($0) is gone or named right: take it from the list" }
    }

    /// One subject a file: whoever looks for a type of another target finds it by the file's name.
    ///
    /// - Parameter known: files with public types that are not called like the file, and how many. The numbers may only
    ///   become smaller.
    func moreTypes(known: [String: Int]) -> [String] {
        var unused = known
        var broken: [String] = []
        for target in manifest.targets where target.folder.hasPrefix("Sources/") {
            for file in sources[target.name] ?? [] {
                let place = "\(target.name)/\(file.path)"
                let others = file.publicTypes.filter { $0 != file.stem }
                let allowed = unused.removeValue(forKey: place) ?? 0
                if others.count > allowed {
                    broken.append(
                        """
                        \(place) has \(allowed == 0 ? "" : "more than \(allowed) ")public types beside its own: \
                        \(others.joined(separator: ", "))
                        """
                    )
                }
                if others.count < allowed {
                    broken.append(
                        """
                        \(place) has \(others.count) public types beside its own: put \(others.count) in the place \
                        of \(allowed) in the list
                        """
                    )
                }
            }
        }
        return broken + unused.keys.sorted().map { "\($0) is gone: take it from the list" }
    }

    /// Folders with sources that no target of the manifest compiles.
    ///
    /// - Parameter scripted: compiled by a script.
    func strayFolders(root: URL, scripted: Set<String> = []) throws -> [String] {
        try ["Sources", "Tests"].flatMap { place -> [String] in
            let folders = Set(
                try Repository.files(in: [place], root: root).filter {
                    [".swift", ".c", ".modulemap"].contains(where: $0.path.hasSuffix)
                }.map { file in
                    file.path.split(separator: "/").prefix(2).joined(separator: "/")
                })
            return folders.subtracting(scripted).filter { folder in
                !manifest.folders.contains { $0 == folder || $0.hasPrefix(folder + "/") }
            }.sorted().map { "\($0) has sources, and no target of the manifest compiles them" }
        }
    }

    /// A page that a library brings along tells of the program it comes from only what is listed.
    ///
    /// - Parameter allowed: as `CDashboard/pages/pair.js: waterh-gateway pair`. The list may only shrink.
    func pageWords(root: URL, allowed: Set<String>) throws -> [String] {
        var unused = allowed
        var broken: Set<String> = []
        for target in manifest.targets where target.folder.hasPrefix("Sources/") && !target.isCommand {
            for file in try Repository.files(in: [target.folder], root: root)
            where [".js", ".mjs", ".css", ".json", ".html", ".svg", ".webmanifest", ".c"].contains(
                where: file.path.hasSuffix)
            {
                for line in file.text.split(separator: "\n")
                where !line.drop(while: { $0 == " " }).hasPrefix("//")
                    && !line.drop(while: { $0 == " " }).hasPrefix("*")
                {
                    for word in CommandWords.commands(in: String(line)) {
                        let use = "\(target.name)/\(file.path.dropFirst(target.folder.count + 1)): \(word)"
                        unused.remove(use)
                        if !allowed.contains(use) { broken.insert("\(use) is said to whoever has the page") }
                    }
                }
            }
        }
        return broken.sorted() + unused.sorted().map { "\($0) is said no longer: take it from the list" }
    }

    /// A library speaks for every surface: its words name no flag, no command of ours and none of the system's. What
    /// can be done on the command line stands in tables of the command line.
    ///
    /// - Parameters:
    ///   - surfaces: targets, and files as `Links/LinkAdvice.swift`, that are the command line's own.
    ///   - exceptions: files that still do. The list may only shrink.
    func commandWords(surfaces: Set<String>, except exceptions: Set<String>) -> [String] {
        var unused = exceptions.union(surfaces)
        var broken: [String] = []
        for target in manifest.targets where target.folder.hasPrefix("Sources/") && !target.isCommand {
            for file in sources[target.name] ?? [] {
                let place = "\(target.name)/\(file.path)"
                guard let text = file.texts.first(where: { CommandWords.first(in: $0.value) != nil }),
                    let word = CommandWords.first(in: text.value)
                else { continue }
                let isKnown = [place, target.name].contains { name in
                    unused.remove(name)
                    return exceptions.contains(name) || surfaces.contains(name)
                }
                if !isKnown { broken.append("\(place):\(text.line) says \"\(word)\"") }
            }
        }
        return broken + unused.sorted().map { "\($0) names no command any more: take it from the list" }
    }

    static func folder(_ file: SwiftSource) -> String {
        file.path.contains("/") ? (file.path as NSString).deletingLastPathComponent : ""
    }
}
