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

    /// Every ATT PDU of a file in order, with retransmissions marked.
    func attPDUs(_ path: String) async throws -> [(seen: SeenPDU, isRepeat: Bool, isDamaged: Bool)] {
        let result = try await program.run(
            ["-r", path, "-Y", "btatt", "-T", "json", "-x", "--no-duplicate-keys"], limit: 120)
        let parsed = try JSONSerialization.jsonObject(with: Data(result.outputBytes))
        var found: [(SeenPDU, Bool, Bool)] = []
        for packet in try #require(parsed as? [[String: Any]]) {
            guard let source = packet["_source"] as? [String: Any], let layers = source["layers"] as? [String: Any],
                let frame = layers["frame"] as? [String: Any],
                let number = (frame["frame.number"] as? String).flatMap({ Int($0) }),
                let raw = layers["btatt_raw"] as? [Any]
            else { continue }
            let text = "\(layers["btle"] ?? "")"
            let many = raw.first is [Any] ? raw.compactMap { $0 as? [Any] } : [raw]
            for one in many {
                guard let hex = one.first as? String else { continue }
                found.append(
                    (
                        SeenPDU(frame: number, pdu: hex), text.contains("Retransmission"),
                        text.contains("btle.crc.incorrect")
                    ))
            }
        }
        return found
    }

    /// The errors that tshark finds in a file: malformed packets, checksums, unreadable records.
    func complaints(_ path: String) async throws -> [String] {
        let result = try await program.run(
            [
                "-r", path, "-Y", "_ws.malformed || btle.crc.incorrect || _ws.expert.severity >= 6291456", "-T",
                "fields", "-e", "frame.number", "-e", "_ws.col.Info", "-e", "_ws.expert.message",
            ], limit: 120)
        let noise = "Running as user"
        return result.lines.map(String.init)
            + result.error.split(separator: "\n").filter { !$0.contains(noise) }.map(String.init)
    }

    func fields(_ path: String, _ names: [String], filter: String? = nil) async throws -> [[String]] {
        let result = try await program.run(
            ["-r", path, "-T", "fields"] + names.flatMap { ["-e", $0] } + (filter.map { ["-Y", $0] } ?? []), limit: 120)
        return result.output.split(separator: "\n").map {
            $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
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
}
