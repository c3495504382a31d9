import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import TrackerCore
import TrackerService

/// A request to an API route, with its context and the app.
struct APICall: Sendable {
    /// The default maximum size of a body in bytes.
    static let bodyLimit = 64 * 1024
    /// The time limit in seconds for a client to send a body.
    static let bodySeconds = 10

    let request: Request
    let context: WebRequestContext
    let app: WebApp
    /// The client; without a scope on routes that need no credential.
    let caller: Caller

    /// Whether the caller may see Waterline: an administrator always, other clients if the configuration shares it.
    var mayReadWaterline: Bool { caller.isAdministrator || app.sharesWaterline() }

    /// - Throws: `HTTPProblem` if the caller has no access to Waterline.
    func requireWaterline() throws {
        let refusal = TrackerAPI.waterlineNotShared
        if !mayReadWaterline { throw HTTPProblem(.forbidden, refusal.code, refusal.sentence) }
    }

    /// The application API, limited to the caller's access.
    func tracker() throws -> TrackerAPI {
        let tracker = try app.tracker().withAccess(waterline: mayReadWaterline)
        return try source().map(tracker.withSource) ?? tracker
    }

    func service() throws -> ServiceClient {
        guard let service = app.service else {
            throw HTTPProblem(.conflict, "noService", "This service does not poll a bottle.")
        }
        return service
    }

    /// The source of a request that an agent forwards: D-Bus or a notification, from the header `Waterh-Surface`.
    private func source() throws -> String? {
        guard let name = request.headers[.waterhSurface] else { return nil }
        guard caller.isLocal else {
            throw HTTPProblem(
                .forbidden, "notThisMachine",
                "Only programs on the service's machine may forward requests.")
        }
        guard Self.forwardedSources.contains(name) else {
            throw WrongInput(
                "unknownValue", "Waterh-Surface must be \(Self.forwardedSources.joined(separator: " or ")).")
        }
        return name
    }

    private static let forwardedSources = [DrinkSource.dbus.rawValue, DrinkSource.notification.rawValue]

    func parameter(_ name: String) throws -> String {
        guard let part = context.parameters.get(name)?.removingPercentEncoding, !part.isEmpty,
            part.utf8.count <= 256
        else {
            throw HTTPProblem.notFound("There is no resource with this name.")
        }
        return part
    }

    func query(_ name: String) -> String? {
        request.uri.queryParameters.get(name)
    }

    /// Rejects query parameters that are unknown or repeated.
    func allowQuery(_ names: Set<String>) throws {
        var seen: Set<Substring> = []
        for (key, _) in request.uri.queryParameters {
            guard names.contains(String(key)) else {
                throw WrongInput("unknownParameter", "Unknown parameter \"\(key.prefix(64))\".")
            }
            guard seen.insert(key).inserted else {
                throw WrongInput("repeatedParameter", "\"\(key)\" is in the query more than once.")
            }
        }
    }

    /// Rejects a query with more than one of these parameters.
    func allowAtMostOne(of names: Set<String>) throws {
        let present = names.filter { query($0) != nil }.sorted()
        guard present.count <= 1 else {
            throw WrongInput(
                "severalParameters",
                "Only one of \(present.map { "\"\($0)\"" }.joined(separator: ", ")) may be in the query.")
        }
    }

    /// Whether a parameter with only one valid value is present. Other values are rejected.
    func hasQuery(_ name: String, _ value: String) throws -> Bool {
        guard let present = query(name) else { return false }
        guard present == value else { throw WrongInput("unknownValue", "\"\(name)\" must be \"\(value)\".") }
        return true
    }

    func intQuery(_ name: String, in range: ClosedRange<Int>, otherwise: Int) throws -> Int {
        guard let text = query(name) else { return otherwise }
        guard let number = Int(text), range.contains(number) else {
            throw WrongInput(
                "outOfRange", "\"\(name)\" must be a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        return number
    }

    func body(upTo limit: Int = APICall.bodyLimit) async throws -> ByteBuffer {
        if let length = request.headers[.contentLength].flatMap(Int.init), length > limit { throw Self.tooLarge(limit) }
        let body = request.body
        return try await withThrowingTaskGroup(of: ByteBuffer?.self) { group in
            group.addTask {
                var all = ByteBuffer()
                try await body.forEachPart { part in
                    guard all.readableBytes + part.readableBytes <= limit else { throw Self.tooLarge(limit) }
                    all.writeImmutableBuffer(part)
                }
                return all
            }
            group.addTask {
                try await Task.sleep(for: .seconds(Self.bodySeconds))
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let bytes = first else {
                throw HTTPProblem(
                    .requestTimeout, "slowBody", "The body did not arrive within \(Self.bodySeconds) seconds.",
                    headers: [.connection: "close"])
            }
            return bytes
        }
    }

    /// The body of a request with fields: JSON, or empty.
    /// - Throws: `HTTPProblem` if the body has another type than JSON.
    func jsonBody() async throws -> ByteBuffer {
        let body = try await body()
        let type = request.headers[.contentType]?.split(separator: ";").first?.lowercased()
        guard body.readableBytes == 0 || type == "application/json" else {
            throw HTTPProblem(
                .unsupportedMediaType, "notJSON", "The body must be JSON: Content-Type: application/json.")
        }
        return body
    }

    /// Whether addresses that contain credentials are shown.
    var mayReadAddresses: Bool { caller.isAdministrator }

    private static func tooLarge(_ limit: Int) -> HTTPProblem {
        HTTPProblem(
            .contentTooLarge, "tooLarge", "The body is limited to \(limit) bytes.", headers: [.connection: "close"])
    }
}
