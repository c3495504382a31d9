package import Emulator
package import Foundation

/// Reads and writes device profiles as JSON files.
package enum ProfileFile {
    /// The maximum size of a document in bytes. A larger document is not read.
    package static let maximumSize = 256 << 20

    /// Reads a profile. Error messages contain the path.
    package static func load(_ path: String) throws(CommandFailure) -> PeripheralProfile {
        let data: Data
        let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
        guard size <= maximumSize else {
            throw failure(path, "has \(size >> 20) MiB: the limit is \(maximumSize >> 20) MiB")
        }
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            let reason = access(path, R_OK) == 0 ? "not a regular file" : String(cString: strerror(errno))
            throw failure(path, "cannot be read: \(reason)", .failed)
        }
        return try decode(data, path: path)
    }

    /// Decodes a profile. Error messages contain the path.
    package static func decode(_ data: Data, path: String) throws(CommandFailure) -> PeripheralProfile {
        do {
            let profile = try JSONDecoder().decode(PeripheralProfile.self, from: data)
            try profile.check()
            return profile
        } catch let fault as ProfileError {
            throw failure(path, fault.description)
        } catch let error as DecodingError {
            throw failure(path, text(error))
        } catch {
            throw failure(path, "is not JSON: \((error as NSError).localizedDescription)")
        }
    }

    private static func failure(_ path: String, _ sentence: String, _ status: ExitStatus = .badInput) -> CommandFailure
    {
        CommandFailure(status, "\(path): \(sentence)", advice: "Make such a file with: waterh-replay clone")
    }

    package static func encode(_ profile: PeripheralProfile) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(profile) + Data("\n".utf8)
    }

    private static func text(_ error: DecodingError) -> String {
        func prefix(_ path: [any CodingKey]) -> String {
            var text = ""
            for key in path { text += key.intValue.map { "[\($0)]" } ?? (text.isEmpty ? "" : ".") + key.stringValue }
            return text.isEmpty ? "" : "\(text): "
        }
        return switch error {
        case .keyNotFound(let key, let context): prefix(context.codingPath) + "the key '\(key.stringValue)' is missing"
        case .typeMismatch(_, let context): prefix(context.codingPath) + "invalid type (\(context.debugDescription))"
        case .valueNotFound(_, let context): prefix(context.codingPath) + "null is not allowed here"
        case .dataCorrupted(let context) where context.codingPath.isEmpty:
            """
            is not valid JSON of a device \
            profile\(context.underlyingError.map { ": \(($0 as NSError).localizedDescription)" } ?? "")
            """
        case .dataCorrupted(let context): prefix(context.codingPath) + context.debugDescription
        @unknown default: "\(error)"
        }
    }
}
