import Bluetooth
import Foundation
import Support
import Testing

/// One ATT PDU as a program shows it.
struct SeenPDU: Hashable, CustomStringConvertible {
    var frame: Int
    var pdu: String
    var description: String { "\(frame):\(pdu)" }
}

/// tshark as a reference. It must be installed; `hardware/bench setup` installs it.
struct Tshark {
    let program: Program

    init() throws {
        program = try #require(Program(system: "tshark"), "tshark is not installed: run hardware/bench setup")
    }

    /// Reads a file once.
    func read(_ path: String) async throws -> Reading {
        let result = try await program.run(
            ["-r", path, "-Y", "btatt", "-T", "json", "-x", "--no-duplicate-keys", "-z", "expert,warn"], limit: 120)
        let output = Data(result.outputBytes)
        // The table of warnings and errors, if there are any, follows the JSON.
        let end = try #require(output.range(of: Data("]\n".utf8), options: .backwards)?.upperBound)
        let packets = try #require(JSONSerialization.jsonObject(with: output[..<end]) as? [[String: Any]])
        let table = String(decoding: output[end...], as: UTF8.self) + result.error
        return try Reading(
            pdus: packets.flatMap(Self.pdus),
            complaints: table.split(separator: "\n").map(String.init).filter { !$0.contains("Running as user") })
    }

    private static func pdus(of packet: [String: Any]) throws -> [PDU] {
        let layers = try #require((packet["_source"] as? [String: Any])?["layers"] as? [String: Any])
        let number = try #require((layers["frame"] as? [String: Any])?["frame.number"] as? String)
        let raw = try #require(layers["btatt_raw"] as? [Any])
        let frame = try #require(Int(number)), text = "\(layers["btle"] ?? "")"
        return try (raw.first is [Any] ? raw : [raw]).map { one in
            PDU(
                seen: SeenPDU(frame: frame, pdu: try #require((one as? [Any])?.first as? String)),
                isRepeat: text.contains("Retransmission"), isDamaged: text.contains("btle.crc.incorrect"))
        }
    }

    struct PDU {
        var seen: SeenPDU
        var isRepeat: Bool
        var isDamaged: Bool
    }

    struct Reading {
        /// Every ATT PDU of the file in order, with retransmissions.
        var pdus: [PDU]
        /// The warnings and errors, each with its number: malformed packets, checksums, unreadable records.
        var complaints: [String]

        var malformedCount: Int {
            complaints.filter { $0.contains(" Malformed ") }.reduce(0) { sum, line in
                sum + (line.split(separator: " ").first.flatMap { Int($0) } ?? 0)
            }
        }
    }
}

/// The real captures next to the repository on the test machines.
enum RealCaptures {
    static let folder: String? = {
        let root = URL(fileURLWithPath: Program.repository)
        let candidates = [
            ProcessInfo.processInfo.environment["WATERH_SHARED"].map { URL(fileURLWithPath: $0) },
            root.deletingLastPathComponent().appendingPathComponent("shared"),
            root.deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("shared"),
        ]
        for case let candidate? in candidates {
            let path = candidate.appendingPathComponent("captures/real").path
            if FileManager.default.fileExists(atPath: path) { return path }
        }
        return nil
    }()

    static let files: [String] = {
        guard let folder else {
            print("the real captures (../shared/captures/real) are not here: the tests on them are skipped")
            return []
        }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { !$0.hasSuffix(".tsv") }.sorted().map { "\(folder)/\($0)" }
    }()

    private static let readings = Task {
        var readings: [String: Tshark.Reading] = [:]
        for path in files { readings[path] = try await Tshark().read(path) }
        return readings
    }

    /// What tshark reads in one of the files. It reads each file once for all tests.
    static func reading(_ path: String) async throws -> Tshark.Reading {
        let all = try await readings.value
        return try #require(all[path])
    }
}
