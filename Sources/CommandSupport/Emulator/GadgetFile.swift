import Foundation
import Emulator

/// A gadget in a file: JSON, checked when it is read.
package enum GadgetFile {
    /// Larger documents are refused unread, in bytes.
    package static let largest = 256 << 20

    /// A file that holds no gadget: where it is wrong, and in what.
    package struct Failure: HasExitReason, Sendable, Hashable, CustomStringConvertible {
        /// The file.
        package var path: String
        /// What is wrong with it.
        package var sentence: String
        /// The system refused; else the content is wrong.
        package var isBadContent: Bool
        /// The file, and what is wrong with it.
        package var description: String { "\(path): \(sentence)" }
        /// `damaged` where its content is wrong, else `failed`.
        package var exitReason: ExitReason { isBadContent ? .damaged : .failed }
    }

    /// - Throws: `Failure`.
    package static func load(_ path: String) throws(Failure) -> Gadget {
        let data: Data
        do {
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
            guard size <= largest else {
                throw Failure(
                    path: path, sentence: "has \(size >> 20) MiB; a gadget has at most \(largest >> 20)",
                    isBadContent: true)
            }
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(
                path: path,
                sentence:
                    """
                    cannot be read: \
                    \(access(path, R_OK) == 0 ? "it is no ordinary file" : String(cString: strerror(errno)))
                    """,
                isBadContent: false)
        }
        return try decode(data, path: path)
    }

    /// The gadget that a document describes.
    ///
    /// - Parameter path: for what is said when there is none.
    package static func decode(_ data: Data, path: String) throws(Failure) -> Gadget {
        do {
            let gadget = try JSONDecoder().decode(Gadget.self, from: data)
            try gadget.check()
            return gadget
        } catch let fault as GadgetFault {
            throw Failure(path: path, sentence: fault.description, isBadContent: true)
        } catch let error as DecodingError {
            throw Failure(path: path, sentence: words(error), isBadContent: true)
        } catch {
            throw Failure(
                path: path, sentence: "is no JSON: \((error as NSError).localizedDescription)", isBadContent: true)
        }
    }

    /// The document of a gadget, keys in order, for people too.
    package static func encode(_ gadget: Gadget) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(gadget) + Data("\n".utf8)
    }

    private static func words(_ error: DecodingError) -> String {
        func place(_ path: [any CodingKey]) -> String {
            var text = ""
            for key in path { text += key.intValue.map { "[\($0)]" } ?? (text.isEmpty ? "" : ".") + key.stringValue }
            return text.isEmpty ? "" : "\(text): "
        }
        return switch error {
        case .keyNotFound(let key, let context): place(context.codingPath) + "the key '\(key.stringValue)' is missing"
        case .typeMismatch(_, let context):
            place(context.codingPath) + "something else belongs here (\(context.debugDescription))"
        case .valueNotFound(_, let context): place(context.codingPath) + "null does not belong here"
        case .dataCorrupted(let context) where context.codingPath.isEmpty:
            """
            is no JSON that could be a \
            gadget\(context.underlyingError.map { ": \(($0 as NSError).localizedDescription)" } ?? "")
            """
        case .dataCorrupted(let context): place(context.codingPath) + context.debugDescription
        @unknown default: "\(error)"
        }
    }
}
