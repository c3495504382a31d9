import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Store
import TrackerCore
import TrackerService

enum FileRoutes {
    static func add(to table: RouteTable, _ log: Logger) {
        table.get("export", query: ["format"]) { call in
            let formatName = call.query("format") ?? HealthFiles.Format.json.rawValue
            guard let format = HealthFiles.Format(rawValue: formatName) else {
                throw WrongInput(
                    "notAFormat",
                    "\"format\" must be one of \(HealthFiles.Format.allCases.map(\.rawValue).joined(separator: ", ")).")
            }
            let tracker = try call.tracker()
            return try file(tracker, "drinks-\(tracker.today()).\(format.ending)", format.mediaType) { write in
                _ = try tracker.exportDrinks(format, to: write)
            }
        }
        for (path, scope) in [("import", Scope.control), ("shortcuts/samples", .log)] {
            table.upload(path, needs: scope) { tracker, upload in
                do {
                    return .json(try tracker.importDrinks { feed in try upload.read(feed) })
                } catch let error as HealthFileError {
                    throw WrongInput(error.code, "\(error.sentence) Nothing was imported.")
                }
            }
        }
        table.get("journal/export") { call in
            let tracker = try call.app.tracker()
            return try file(tracker, "journal-\(tracker.today()).jsonl", "application/jsonl") { write in
                _ = try tracker.exportJournal(to: write)
            }
        }
        table.upload("journal/import", needs: .control) { tracker, upload in
            .json(try tracker.importJournal { feed in try upload.read(feed) })
        }
        // The backup contains sessions.
        table.get("backup", needs: .admin) { call in
            let tracker = try call.app.tracker()
            let scratch = try ScratchFolder(besideStore: tracker.store.path)
            try tracker.store.backUp(to: scratch.file("answer"))
            log.notice("Backup downloaded by \(call.caller.name).")
            return try file("waterh-\(tracker.today()).sqlite", "application/vnd.sqlite3", in: scratch)
        }
    }

    /// Writes the whole file before the first byte is sent. A full disk then causes an error response instead of a
    /// truncated file.
    private static func file(
        _ tracker: TrackerAPI, _ name: String, _ type: String,
        _ fill: (_ write: ([UInt8]) throws -> Void) throws -> Void
    ) throws -> Response {
        let scratch = try ScratchFolder(besideStore: tracker.store.path)
        let file = try scratch.create("answer")
        try fill { bytes in
            do { try file.write(contentsOf: Data(bytes)) } catch { throw noSpace }
        }
        return try self.file(name, type, in: scratch)
    }

    private static func file(_ name: String, _ type: String, in scratch: ScratchFolder) throws -> Response {
        guard let file = FileHandle(forReadingAtPath: scratch.file("answer")) else { throw noSpace }
        let length = try file.seekToEnd()
        try file.seek(toOffset: 0)
        let body = ResponseBody(contentLength: Int(length)) { writer in
            defer { withExtendedLifetime(scratch) { try? file.close() } }
            while let piece = try file.read(upToCount: 1 << 16), !piece.isEmpty {
                try await writer.write(ByteBuffer(bytes: piece))
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok,
            headers: [
                .contentType: type, .contentDisposition: "attachment; filename=\"\(name)\"", .cacheControl: "no-store",
            ], body: body)
    }

    private static var noSpace: Refusal { Refusal("noScratch", "No space is left for the file.", category: .diskFull) }
}

extension HealthFiles.Format {
    fileprivate var mediaType: String {
        switch self {
        case .appleHealth: "application/xml"
        case .csv: "text/csv; charset=utf-8"
        case .json: "application/json"
        }
    }

    fileprivate var ending: String {
        switch self {
        case .appleHealth: "xml"
        case .csv, .json: rawValue
        }
    }
}
