import Foundation
import Store
import TrackerCore

extension TrackerDesk {
    /// So long an endpoint may be: those of today have 200 bytes or less.
    private static let longestEndpoint = 2048

    /// The browsers that notifications are pushed to, without where and with which keys.
    public func pushSubscriptions() throws -> PushList {
        PushList(subscriptions: try store.pushSubscriptions().map(PushReport.init))
    }

    /// Notifications are pushed to a browser from now on (tracker law Section 10.9). One that is known keeps its id.
    /// - Parameters:
    ///   - publicKey: an uncompressed point of P-256, in base64url, as the browser tells it (`p256dh`).
    ///   - secret: 16 bytes likewise (`auth`).
    ///   - label: by which its person knows it in a list, at most 64 printable characters; empty where the browser says
    ///     none.
    ///   - token: by which it was let in; `nil` for a page of this machine.
    public func subscribe(endpoint: String, publicKey: String, secret: String, label: String, token: String?) throws
        -> PushReport
    {
        guard endpoint.hasPrefix("https://"), endpoint.utf8.count <= Self.longestEndpoint,
            endpoint.utf8.allSatisfy({ $0 > 32 && $0 < 127 }), let place = URLComponents(string: endpoint),
            place.host?.isEmpty == false, place.user == nil, place.password == nil, place.fragment == nil
        else {
            throw WrongInput(
                "noEndpoint",
                "\"endpoint\" is the address of a push service, as the browser tells it: it begins with https://.")
        }
        guard let key = Self.decoded(publicKey), key.count == 65, key[0] == 4 else {
            throw WrongInput("noPushKey", "\"p256dh\" is a key of 65 bytes in base64url, as the browser tells it.")
        }
        guard let shared = Self.decoded(secret), shared.count == 16 else {
            throw WrongInput("noPushSecret", "\"auth\" is 16 bytes in base64url, as the browser tells it.")
        }
        if !label.isEmpty { try Self.checkLabel(label) }
        return try change {
            let new = PushSubscription(
                endpoint: endpoint, publicKey: key, secret: shared, label: label.isEmpty ? "Browser" : label, since: now
            )
            try store.subscribe(new, letInBy: token)
            return PushReport(new)
        }
    }

    /// Nothing is pushed there any more.
    public func unsubscribe(_ id: String) throws -> PushRemoval {
        try change {
            guard try store.unsubscribe(id) else {
                throw Refusal(
                    "noSuchBrowser", "Notifications are not pushed to such a browser (any more).", category: .notFound)
            }
            return PushRemoval(removed: id)
        }
    }

    private static func decoded(_ text: String) -> [UInt8]? {
        guard text.utf8.count <= 256 else { return nil }
        let plain = text.replacing("-", with: "+").replacing("_", with: "/").replacing("=", with: "")
        return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)).map(
            Array.init)
    }
}
