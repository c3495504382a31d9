import CommandSupport
import Foundation
import TrackerCore

/// The default name: `bench-day-2026-11-23-1030`.
struct BenchDayFolder: Sendable {
    let path: String

    /// `bench-day-2026-11-23-1030`
    static func usualName(_ wall: WallTime) -> String {
        "bench-day-" + wall.description.prefix(16).replacing("T", with: "-").replacing(":", with: "")
    }

    /// Creates the directory, private to the user.
    init(_ path: String) throws {
        self.path = path
        do {
            if let there = try? FileManager.default.contentsOfDirectory(atPath: path), !there.isEmpty {
                throw CommandFailure(
                    .wrongUse, "\(path) is not empty",
                    advice: "Name another with --folder: an earlier recording is not replaced.")
            }
            try FileManager.default.createDirectory(
                atPath: path + "/captures", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            _ = chmod(path, 0o700)
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure(
                .failed, "creating \(path) failed: \(error.localizedDescription)", advice: "Name another with --folder."
            )
        }
    }

    var names: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.filter { !$0.hasPrefix(".") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }.sorted().map {
            $0 == "captures" ? "captures/" : $0
        }
    }

    var store: String { path + "/waterh.sqlite" }

    func capture(_ name: String) -> String { "\(path)/captures/\(name).btsnoop" }

    /// Appends records, 26 hexadecimal digits per line, and synchronises the file.
    func keep(_ records: [[UInt8]]) throws {
        let text = records.map { hex($0) + "\n" }.joined()
        let file = path + "/records.txt"
        let descriptor = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure(file) }
        defer { close(descriptor) }
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { throw Self.failure(file) }
            sent += max(0, count)
        }
        guard fsync(descriptor) == 0 else { throw Self.failure(file) }
    }

    private static func failure(_ file: String) -> CommandFailure {
        CommandFailure(
            .failed, "\(file) cannot be written: \(String(cString: strerror(errno))).",
            advice: "Nothing was acknowledged since. Free some space, and begin a new session.")
    }

    func write(_ day: BenchDayRecord, isComplete: Bool) throws {
        try Self.write(object(day, isComplete: isComplete), to: path + "/findings.json")
        try Self.write(.array(day.steps.map(\.json)), to: path + "/steps.json")
    }

    private static func write(_ value: JSONValue, to path: String) throws {
        let file = try OutputFile(path)
        try file.write(Array((value.text + "\n").utf8))
        try file.commit()
    }

    /// The session as a JSON object with the keys of CLI spec C5.
    func object(_ day: BenchDayRecord, isComplete: Bool) -> JSONValue {
        [
            "folder": .string(path), "complete": .bool(isComplete), "name": JSONValue(day.name),
            "bottle": JSONValue(day.identity), "profile": JSONValue(day.profile?.rawValue),
            "model": JSONValue(day.model?.rawValue), "mtu": JSONValue(day.mtu),
            "findings": .array(BenchDayQuestion.all.map { $0.json(day) }),
            "leftOut": .array(day.omissions.map { .string($0) }),
        ]
    }
}

extension BenchDayRecordedStep {
    fileprivate var json: JSONValue {
        [
            "part": .string(part), "step": .string(name), "at": .string(at.description),
            "sent": JSONValue(sent.map { hex($0) }),
            "values": .array(
                values.map {
                    ["afterMs": .int(Int($0.after / .milliseconds(1))), "hex": .string(hex($0.bytes))]
                }),
            "advertisements": .int(advertisements), "failure": JSONValue(failure),
        ]
    }
}
