import Foundation

/// The current time zone of this machine, which can change while a program runs.
package enum HostZone {
    /// The IANA ID: from `TZ`, else from the target of `/etc/localtime`, else from `/etc/timezone`, else from
    /// Foundation. A rule in `TZ`, such as `JST-9`, is returned unchanged.
    /// - Parameter variable: the value of `TZ`.
    package static func id(
        variable: String? = getenv("TZ").map { String(cString: $0) }, localtime: String = "/etc/localtime",
        timezone: String = "/etc/timezone"
    ) -> String {
        let rule = variable.map { $0.hasPrefix(":") ? String($0.dropFirst()) : $0 } ?? ""
        if !rule.isEmpty, rule != localtime { return name(inVariable: rule) ?? rule }
        return name(ofTarget: localtime) ?? name(in: timezone) ?? TimeZone.current.identifier
    }

    /// The zone name in `TZ`: `Europe/Berlin`, or a path into the zone files. A rule such as `CET-1CEST` is not a name.
    private static func name(inVariable text: String) -> String? {
        let name = zoneName(inPath: text) ?? text
        // Foundation does not list links (`US/Eastern`) and `Etc/GMT+5`, but accepts the rule `GMT+5` as a name.
        guard TimeZone(identifier: name) != nil else { return nil }
        return name.contains("/") || name == "UTC"
            || FileManager.default.fileExists(atPath: "/usr/share/zoneinfo/\(name)") ? name : nil
    }

    /// The first zone name in a chain of symbolic links. Later names differ, because zone files link to each other.
    private static func name(ofTarget link: String) -> String? {
        var path = link
        for _ in 0..<8 {
            guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { return nil }
            if let name = zoneName(inPath: target) { return name }
            path = target.hasPrefix("/") ? target : (path as NSString).deletingLastPathComponent + "/" + target
        }
        return nil
    }

    private static func name(in file: String) -> String? {
        guard let handle = FileHandle(forReadingAtPath: file), let data = try? handle.read(upToCount: 256) else {
            return nil
        }
        let name = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return name.isEmpty ? nil : name
    }

    private static func zoneName(inPath path: String) -> String? {
        guard let range = path.range(of: "/zoneinfo/", options: .backwards) else { return nil }
        let name = String(path[range.upperBound...])
        for prefix in ["posix/", "right/"] where name.hasPrefix(prefix) { return String(name.dropFirst(prefix.count)) }
        return name.isEmpty ? nil : name
    }
}
