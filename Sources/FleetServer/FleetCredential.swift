import Digests
import Foundation

/// What a gateway or a reader shows to be let in. It is told once; only what it hashes to is kept.
public enum FleetCredential {
    /// - Parameter random: 32 bytes that nobody can guess.
    public static func text(random: [UInt8]) -> String { "wf_" + hex(random) }

    /// SHA-256, hexadecimal.
    public static func hash(_ credential: String) -> String { SHA256.hex(credential.utf8) }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Of the field `Authorization`: after `Bearer`, or the password after `Basic`, as a browser asks for one.
    static func shown(_ field: String?) -> String? {
        let parts = (field ?? "").split(separator: " ", maxSplits: 1)
        guard parts.count == 2 else { return nil }
        switch parts[0].lowercased() {
        case "bearer": return String(parts[1])
        case "basic":
            guard let data = Data(base64Encoded: String(parts[1])), let text = String(validating: data, as: UTF8.self),
                let colon = text.firstIndex(of: ":")
            else { return nil }
            return String(text[text.index(after: colon)...])
        default: return nil
        }
    }
}
