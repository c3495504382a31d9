import BenchDay
import CommandKit
import Foundation
import TrackerCore

/// Where a day's captures, records and findings lie.
struct BenchDayFolder: Sendable {
    let path: String

    /// `bench-day-2026-11-23-1030`
    static func usualName(_ wall: WallTime) -> String {
        "bench-day-" + wall.description.prefix(16).replacing("T", with: "-").replacing(":", with: "")
    }

    /// Makes it, for its owner alone.
    init(_ path: String) throws {
        self.path = path
        do {
            if let there = try? FileManager.default.contentsOfDirectory(atPath: path), !there.isEmpty {
                throw CommandFailure(
                    .wrongUse, "\(path) is not empty.",
                    advice: "Name another with --folder: what an earlier day recorded stays.")
            }
            try FileManager.default.createDirectory(
                atPath: path + "/captures", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            _ = chmod(path, 0o700)
        } catch let failure as CommandFailure {
            throw failure
        } catch {
            throw CommandFailure(
                .failed, "\(path) cannot be made: \(error.localizedDescription)", advice: "Name another with --folder.")
        }
    }

    /// What lies in it.
    var names: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.filter { !$0.hasPrefix(".") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }.sorted().map {
            $0 == "captures" ? "captures/" : $0
        }
    }

    var store: String { path + "/waterh.sqlite" }

    func capture(_ name: String) -> String { "\(path)/captures/\(name).btsnoop" }

    /// Appends records, 26 hex digits a line, and waits until the disk has them.
    func keep(_ records: [[UInt8]]) throws {
        let text = records.map {
            $0.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined() + "\n"
        }.joined()
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
            advice: "Nothing was acknowledged since. Free some space, and begin a new day.")
    }

    func write(_ day: BenchDayRecord, _ findings: [DayFinding], isWhole: Bool) throws {
        try Self.write(
            Self.object(day, findings, folder: path, isWhole: isWhole).text + "\n", to: path + "/findings.json")
        try Self.write(
            DayPage(day, findings, place: (path as NSString).lastPathComponent).markdown, to: path + "/README.md")
    }

    private static func write(_ text: String, to path: String) throws {
        let file = try OutputFile(path)
        try file.write(Array(text.utf8))
        try file.commit()
    }

    /// The keys of command law C5.
    static func object(_ day: BenchDayRecord, _ findings: [DayFinding], folder: String, isWhole: Bool) -> JSONValue {
        [
            "folder": .string(folder), "complete": .bool(isWhole), "name": JSONValue(day.name),
            "bottle": JSONValue(day.identity), "profile": JSONValue(day.profile?.rawValue),
            "model": JSONValue(day.model?.rawValue), "mtu": JSONValue(day.mtu),
            "findings": .array(
                findings.map {
                    [
                        "point": .string($0.point.rawValue), "law": .string($0.point.law),
                        "statement": .string($0.point.statement), "verdict": .string($0.verdict.rawValue),
                        "words": .string($0.words), "evidence": .array($0.evidence.map { .string($0) }),
                    ]
                }),
            "leftOut": .array(day.omissions.map { .string($0) }),
        ]
    }
}
